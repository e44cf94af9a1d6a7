"""A session outlives its process; a turn is stopped from outside; no turn is ever run twice."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable
from pathlib import Path
from typing import Self

import pytest
from claude_agent_sdk import Message

from holodeck_backend_claude.claude.process.client import Client
from holodeck_backend_claude.claude.session import ClaudeSession
from holodeck_backend_claude.contract import BackendSessionError, ToolCall
from holodeck_backend_claude.testing import Answer, ModelRequest, call_tool, forever, hang, say
from tests.support.probes import Probe, probe_schema

from .lab import Lab
from .test_resumed_sessions import SQLITE, said


def kill(session: ClaudeSession) -> None:
    os.kill(session.pid or 0, signal.SIGKILL)


@pytest.mark.parametrize("settings", [{}, SQLITE])
async def test_a_process_that_died_between_two_turns_is_not_noticed(
    lab: Lab, settings: dict[str, object]
) -> None:
    api = await lab.api([say("Noted."), say("41."), say("41 again.")])
    backend = await lab.backend(api, settings=settings)
    session = await backend.create_session()
    first = await session.send("Remember 41.")
    for question in ("What?", "Once more?"):
        before = session.pid
        kill(session)
        result = await session.send(question)
        assert session.pid != before
        assert result.session_id == first.session_id
        assert "Remember 41." in said(api.requests[-1])
    assert len(api.requests) == 3
    assert result.cost_usd == pytest.approx(first.cost_usd)


async def test_a_process_that_dies_before_the_first_turn_is_not_noticed(lab: Lab) -> None:
    api = await lab.api([say("Hello.")])
    backend = await lab.backend(api)
    session = await backend.create_session()
    kill(session)
    assert (await session.send("Hi")).response == "Hello."
    assert len(api.requests) == 1


@pytest.mark.parametrize(("settings", "turns_before"), [({}, 0), ({}, 1), (SQLITE, 1)])
async def test_a_turn_whose_process_dies_in_a_tool_is_not_run_again(
    lab: Lab, settings: dict[str, object], turns_before: int
) -> None:
    def die(_call: ToolCall) -> str:
        kill(session)
        return "never told"

    probe = Probe("kb", die, probe_schema())
    answers = [say("Noted.")] * turns_before
    api = await lab.api([*answers, call_tool("kb", {"query": "x"}), say("I am back."), say("ok")])
    backend = await lab.backend(api, probe, settings=settings)
    session = await backend.create_session()
    for _ in range(turns_before):
        await session.send("Remember 41.")
    with pytest.raises(BackendSessionError, match="subprocess terminated unexpectedly") as error:
        await session.send("Do it")
    assert error.value.result is not None
    assert [call["name"] for call in error.value.result.tool_calls] == ["kb"]
    assert (await session.send("And now?")).response == "I am back."
    assert len(probe.calls) == 1
    assert len(api.requests) == turns_before + 2
    assert ("Remember 41." in said(api.requests[-1])) == bool(turns_before)
    await session.close()
    if settings:
        resumed = await backend.create_session(resume=session.session_id)
        await resumed.send("Once more")
        assert "And now?" in said(api.requests[-1])
        assert ("Remember 41." in said(api.requests[-1])) == bool(turns_before)


@pytest.mark.parametrize("turns_before", [0, 1])
@pytest.mark.parametrize("settings", [{}, SQLITE])
async def test_a_message_that_was_written_down_when_the_process_died_is_not_sent_twice(
    lab: Lab, settings: dict[str, object], turns_before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = await lab.api(forever(say("ok")))
    backend = await lab.backend(api, settings=settings)
    session = await backend.create_session()
    for _ in range(turns_before):
        await session.send("Remember 41.")

    receive = Client.receive

    async def die_unheard(client: Client) -> None:
        monkeypatch.setattr(Client, "receive", receive)
        assert client.folder
        while not is_written_down("Do it", client.folder.configuration):
            await asyncio.sleep(0.001)
        kill(session)

    monkeypatch.setattr(Client, "receive", lambda client: Unheard(die_unheard(client)))
    with pytest.raises(BackendSessionError, match="subprocess terminated unexpectedly"):
        await session.send("Do it")
    await session.send("And now?")
    assert said(api.requests[-1]).count("Do it") == 1
    assert ("Remember 41." in said(api.requests[-1])) == bool(turns_before)
    await session.close()
    if settings:
        resumed = await backend.create_session(resume=session.session_id)
        await resumed.send("Once more")
        assert (
            said(api.requests[-1]).count("Do it") == said(api.requests[-1]).count("And now?") == 1
        )


class Unheard:
    """No message, but an end."""

    def __init__(self, end: Awaitable[None]) -> None:
        self._end = end

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        await self._end
        raise ConnectionError("the process is gone")


def is_written_down(message: str, config: Path) -> bool:
    """Whether the whole message is in a transcript."""
    text = "".join(path.read_text() for path in config.glob("projects/*/*.jsonl"))
    lines = text.splitlines(keepends=True)
    return any(message in line and '"type":"user"' in line and line[-1] == "\n" for line in lines)


async def test_a_process_that_does_not_stop_its_turn_is_replaced(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holodeck_backend_claude.claude.process.client.STOP_SECONDS", 0.3)
    asked = asyncio.Event()

    async def answer(_request: ModelRequest) -> Answer:
        os.kill(session.pid or 0, signal.SIGSTOP)
        asked.set()
        return hang()

    api = await lab.api([say("Noted."), answer, say("I am back.")])
    backend = await lab.backend(api)
    session = await backend.create_session()
    await session.send("Remember 41.")
    turn = asyncio.create_task(session.run_turn("Hang"))
    await asked.wait()
    assert await session.interrupt()
    assert (await turn).error_reason == "interrupted"
    assert (await session.send("Go on")).response == "I am back."
    assert "Remember 41." in said(api.requests[-1])


async def test_an_interrupted_turn_ends_and_the_session_goes_on(lab: Lab) -> None:
    asked = asyncio.Event()

    async def answer(_request: ModelRequest) -> Answer:
        asked.set()
        return hang()

    api = await lab.api([answer, say("I am here.")])
    backend = await lab.backend(api)
    session = await backend.create_session()
    assert not await session.interrupt()
    running = asyncio.create_task(session.run_turn("Hang"))
    waiting = asyncio.create_task(session.run_turn("Next"))
    await asked.wait()
    pid = session.pid
    assert await session.interrupt()
    assert (await running).error_reason == "interrupted"
    assert (await waiting).response == "I am here."
    assert session.pid == pid
    assert not await session.interrupt()


async def test_a_restart_that_fails_is_the_result_of_the_turn_and_the_next_one_tries_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holodeck_backend_claude.claude.process import client

    api = await lab.api([say("Noted."), say("I am back.")])
    backend = await lab.backend(api)
    session = await backend.create_session()
    await session.send("Remember 41.")
    kill(session)
    with monkeypatch.context() as patched:
        patched.setattr(client, "bundled_cli", lambda: None)
        with pytest.raises(BackendSessionError, match="Claude Code is missing"):
            await session.send("Anybody there?")
    assert (await session.send("And now?")).response == "I am back."
    assert "Remember 41." in said(api.requests[-1])


async def test_a_session_that_is_closed_while_its_process_is_replaced_is_closed(
    lab: Lab, tmp_path: Path
) -> None:
    api = await lab.api(forever(say("ok")))
    backend = await lab.backend(api)
    session = await backend.create_session()
    await session.send("Hi")
    kill(session)
    turn = asyncio.create_task(session.run_turn("again"))
    while not session._owner.process.is_starting:
        await asyncio.sleep(0)
        if turn.done():
            break
    await session.close()
    assert (await turn).error_reason in (None, "interrupted")
