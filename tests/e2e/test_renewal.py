"""A long conversation on one process after the other, so that none of them grows without end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.claude.process import client, renewed
from holodeck_backend_claude.claude.process.renewed import RenewedClient
from holodeck_backend_claude.testing import Usage, call_tool, forever, say
from tests.support.probes import Probe

from .lab import Lab


@pytest.fixture(autouse=True)
def after_turns(monkeypatch: pytest.MonkeyPatch) -> asyncio.Queue[int | None]:
    """A process is for two turns; gives the id of the process there is after each turn."""
    pids: asyncio.Queue[int | None] = asyncio.Queue()
    refresh = RenewedClient.refresh

    async def noted(process: RenewedClient) -> bool:
        replaced = await refresh(process)
        pids.put_nowait(process.client.pid if process.client else None)
        return replaced

    monkeypatch.setattr(RenewedClient, "refresh", noted)
    monkeypatch.setattr(renewed, "TURNS_OF_A_PROCESS", 2)
    return pids


def texts(messages: list[Any]) -> list[tuple[str, list[Any]]]:
    """Messages without what differs from one request to the next of one process, too."""
    plain = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        kept = [{k: v for k, v in block.items() if k != "cache_control"} for block in blocks]
        plain.append((message["role"], kept))
    return plain


async def test_another_process_goes_on_and_the_model_is_asked_the_same(
    lab: Lab, after_turns: asyncio.Queue[int | None]
) -> None:
    usage = Usage(input=100, output=10)
    script = [
        call_tool("kb", {"query": "x"}, usage=usage),
        forever(say("ok", usage=usage)),
    ]
    probe = Probe("kb")
    api, backend = await lab.run(script, probe)
    session = await backend.create_session()
    pids = [session.pid]
    results = []
    for number in range(5):
        results.append(await session.send(f"message {number}"))
        pids.append(await after_turns.get())
    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4] == pids[5]
    assert len(set(pids) - {None}) == 3
    assert len(probe.calls) == 1
    assert len({result.session_id for result in results}) == 1
    costs = [result.cost_usd for result in results[1:]]  # each turn costs the same
    assert costs == [pytest.approx(costs[0])] * 4
    for before, after in zip(api.requests, api.requests[1:], strict=False):
        earlier, later = texts(before.body["messages"]), texts(after.body["messages"])
        assert later[: len(earlier)] == earlier
        assert after.body["tools"] == before.body["tools"]


async def test_a_conversation_with_a_budget_stays_on_its_process(
    lab: Lab, after_turns: asyncio.Queue[int | None]
) -> None:
    _, backend = await lab.run([forever(say("ok"))], settings={"max_budget_usd": 5.0})
    session = await backend.create_session()
    first = session.pid
    for _ in range(3):
        await session.send("Hi")
        assert await after_turns.get() == first


async def test_where_the_next_process_does_not_start_the_next_turn_tries_again(
    lab: Lab,
    after_turns: asyncio.Queue[int | None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    broken = tmp_path / "claude"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o700)
    api, backend = await lab.run([forever(say("ok"))])
    session = await backend.create_session()
    await session.send("one")
    with monkeypatch.context() as patch:
        patch.setattr(client, "find_program", lambda: str(broken))
        await session.send("two")
        for _turn in range(2):
            await after_turns.get()
    assert (await session.send("three")).response == "ok"
    assert "one" in str(api.requests[-1].body)
    assert len(api.requests) == 3


async def test_a_message_that_comes_while_it_is_replaced_waits_for_the_next(lab: Lab) -> None:
    api, backend = await lab.run([forever(say("ok"))])
    session = await backend.create_session()
    results = await asyncio.gather(*(session.send(f"message {n}") for n in range(3)))
    assert [result.response for result in results] == ["ok"] * 3
    assert len(api.requests) == 3


async def test_closing_while_it_is_replaced_leaves_nothing(lab: Lab) -> None:
    _, backend = await lab.run([forever(say("ok"))])
    session = await backend.create_session()
    await session.send("one")
    await session.send("two")
    await session.close()
