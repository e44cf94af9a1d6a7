"""Conversations that are connected ahead, each used once and by one only."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.claude.backend import ClaudeBackend
from holodeck_backend_claude.claude.process import client
from holodeck_backend_claude.claude.session import ClaudeSession
from holodeck_backend_claude.concurrency import in_thread
from holodeck_backend_claude.contract import BackendSessionError, ExecutionResult, ToolCall
from holodeck_backend_claude.testing import (
    Answer,
    ModelRequest,
    call_tool,
    forever,
    say,
)
from tests.support.probes import Probe, find, registry_of

from .lab import Lab, children

user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")


async def warm_backend(lab: Lab, script: Any, *probes: Probe, size: int = 1) -> ClaudeBackend:
    """A backend with everything connected ahead."""
    api = await lab.api(script)
    backend = await lab.backend(api, *probes, settings={"warm_clients": size})
    await backend.warm.wait_filled()
    return backend


def spare_pids(backend: ClaudeBackend) -> list[int | None]:
    """The processes that are connected and nobody's yet."""
    return [spare.session.pid for spare in backend.warm._spares]


async def wait_until_gone(pid: int) -> None:
    while Path(f"/proc/{pid}").exists():
        await asyncio.sleep(0.01)


async def test_a_conversation_gets_the_process_that_was_connected_ahead(lab: Lab) -> None:
    backend = await warm_backend(lab, [forever(say("ok"))])
    (ahead,) = spare_pids(backend)
    session = await backend.create_session()
    assert session.pid == ahead is not None
    assert (await session.send("Hi")).response == "ok"
    await backend.warm.wait_filled()
    (next_one,) = spare_pids(backend)
    assert next_one not in (ahead, None)
    serving: list[int | None] = []
    run_turn = ClaudeSession.run_turn

    async def noted(session: ClaudeSession, *args: Any, **kwargs: Any) -> ExecutionResult:
        serving.append(session.pid)
        return await run_turn(session, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClaudeSession, "run_turn", noted)
        assert (await backend.invoke_once("Hi")).response == "ok"
    assert serving == [next_one]


async def test_two_conversations_share_no_process_no_id_no_folder_and_no_history(lab: Lab) -> None:
    api = await lab.api([forever(say("ok"))])
    backend = await lab.backend(api, settings={"warm_clients": 2})
    await backend.warm.wait_filled()
    first, second = await backend.create_session(), await backend.create_session()
    await first.send("My name is Ada.")
    await second.send("Who am I?")
    assert first.pid != second.pid
    assert first.session_id != second.session_id
    homes = [
        environment["HOME"]
        for session in (first, second)
        for environment in [environment_of(session)]
    ]
    assert len({*homes, *(str(Path(home).resolve()) for home in homes)}) == 2
    assert "Ada" not in str(api.requests[1].body)
    await first.close()
    await backend.warm.wait_filled()
    third = await backend.create_session()
    await third.send("Who am I?")
    assert third.pid not in (first.pid, second.pid)
    assert "Ada" not in str(api.requests[2].body)


def environment_of(session: ClaudeSession) -> dict[str, str]:
    text = Path(f"/proc/{session.pid}/environ").read_text()
    return dict(pair.split("=", 1) for pair in text.split("\0") if pair)


async def test_a_process_that_died_while_it_waited_is_not_handed_out(lab: Lab) -> None:
    backend = await warm_backend(lab, [forever(say("ok"))])
    (dead,) = spare_pids(backend)
    assert dead
    os.kill(dead, signal.SIGKILL)
    await wait_until_gone(dead)
    session = await backend.create_session()
    assert session.pid not in (dead, None)
    assert (await session.send("Hi")).response == "ok"


async def test_one_that_dies_before_its_first_message_is_replaced_and_asks_once(lab: Lab) -> None:
    api = await lab.api([forever(say("ok"))])
    backend = await lab.backend(api, settings={"warm_clients": 1})
    await backend.warm.wait_filled()
    session = await backend.create_session()
    dead = session.pid
    assert dead
    os.kill(dead, signal.SIGKILL)
    assert (await session.send("Hi")).response == "ok"
    assert session.pid != dead
    assert len(api.requests) == 1


async def test_one_that_dies_after_a_tool_call_is_not_asked_again(lab: Lab) -> None:
    pids: list[int] = []

    def die(_call: ToolCall) -> str:
        os.kill(pids[0], signal.SIGKILL)
        return "never read"

    probe = Probe("kb", die)
    api = await lab.api([call_tool("kb", {"query": "x"}), forever(say("ok"))])
    backend = await lab.backend(api, probe, settings={"warm_clients": 1})
    await backend.warm.wait_filled()
    session = await backend.create_session()
    pids.append(session.pid or 0)
    with pytest.raises(BackendSessionError, match="terminated unexpectedly"):
        await session.send("Hi")
    assert len(probe.calls) == len(api.requests) == 1


async def test_teardown_ends_what_is_connected_and_what_is_being_connected(lab: Lab) -> None:
    backend = await warm_backend(lab, [forever(say("ok"))], size=2)
    await backend.create_session()  # which lets another one be connected
    await asyncio.sleep(0)
    await backend.teardown()
    assert children() == []
    await backend.teardown()
    with pytest.raises(BackendSessionError, match="torn down"):
        await backend.create_session()


@pytest.mark.parametrize("is_filled", [False, True])
@pytest.mark.parametrize("steps", [1, 3, 5])
async def test_whoever_is_interrupted_by_the_teardown_is_told_so_and_no_process_starts_after_it(
    lab: Lab, steps: int, is_filled: bool
) -> None:
    api = await lab.api([forever(say("ok"))])
    backend = await lab.backend(api, settings={"warm_clients": 2})
    if is_filled:
        await backend.warm.wait_filled()
    asked = [asyncio.create_task(backend.invoke_once("Hi")) for _ in range(4)]
    for _ in range(steps):
        await asyncio.sleep(0)
    await backend.teardown()
    assert children() == []
    results = await asyncio.gather(*asked)
    assert [result.error_reason for result in results] == ["interrupted"] * 4
    assert children() == []


async def test_a_start_that_fails_in_the_background_is_told_to_the_next_who_asks(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = tmp_path / "claude"
    broken.write_text("#!/bin/sh\necho 'out of order' >&2\nexit 3\n")
    broken.chmod(0o700)
    caplog.set_level(logging.DEBUG, "holodeck_backend_claude")
    with monkeypatch.context() as patch:
        patch.setattr(client, "find_program", lambda: str(broken))
        backend = await warm_backend(lab, [forever(say("ok"))])
        told = [r for r in caplog.records if "not connected ahead" in r.message]
        assert [record.levelname for record in told] == ["DEBUG"]
        with pytest.raises(BackendSessionError, match="out of order"):
            await backend.create_session()
        result = await backend.invoke_once("Hi")
        assert result.is_error
        assert "out of order" in (result.error_detail or "")
    assert (await backend.invoke_once("Hi")).response == "ok"


async def test_whoever_gives_up_waiting_leaves_the_process_to_the_next(lab: Lab) -> None:
    api = await lab.api([forever(say("ok"))])
    backend = await lab.backend(api, settings={"warm_clients": 1})
    (spare,) = backend.warm._spares
    impatient = asyncio.create_task(backend.invoke_once("Hi"))
    await asyncio.sleep(0)
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    session = await backend.create_session()
    assert session is spare.session
    assert (await session.send("Hi")).response == "ok"
    assert len(api.requests) == 1


async def test_a_tool_sees_the_context_of_whoever_asks_not_of_whoever_came_before(
    lab: Lab,
) -> None:
    seen: list[str] = []
    probe = Probe("kb", lambda call: seen.append(user.get()) or find(call))  # type: ignore[func-returns-value]
    script = [call_tool("kb", {"query": "x"}), say("ok")] * 3
    backend = await warm_backend(lab, script, probe)
    for name in ("ada", "bob"):
        user.set(name)
        await backend.invoke_once("Hi")
        await backend.warm.wait_filled()
    session = await backend.create_session()
    user.set("eve")
    await session.send("Hi")
    assert seen == ["ada", "bob", "eve"]


async def test_a_tool_that_asks_the_model_gets_a_process_of_its_own_kind(lab: Lab) -> None:
    async def system(request: ModelRequest) -> Answer:
        return say(f"{len(request.tools)} tools")

    api = await lab.api([forever(system)])
    backend = await lab.backend(api, Probe("kb"), settings={"warm_clients": 1})
    await backend.warm.wait_filled()
    before = spare_pids(backend)
    assert await backend._ask("Hi") == "0 tools"
    assert spare_pids(backend) == before
    assert (await backend.invoke_once("Hi")).response == "1 tools"


async def test_many_at_once_all_get_an_answer(lab: Lab) -> None:
    backend = await warm_backend(lab, [forever(say("ok"))], size=2)
    results = await asyncio.gather(*(backend.invoke_once("Hi") for _ in range(5)))
    assert [result.response for result in results] == ["ok"] * 5
    assert len({result.session_id for result in results}) == 5
    await backend.warm.wait_filled()
    assert len(spare_pids(backend)) == len(children()) == 2


async def test_two_event_loops_one_after_the_other(lab: Lab) -> None:
    api = await lab.api([forever(say("ok"))])
    agent = lab.agent(api, settings={"warm_clients": 1})
    backend = ClaudeBackend(agent, registry_of())

    async def first() -> ExecutionResult:
        await backend.initialize()
        return await backend.invoke_once("Hi")

    async def second() -> ExecutionResult:
        try:
            return await backend.invoke_once("Hi")
        finally:
            await backend.teardown()

    for loop in (first, second):
        result = await in_thread(lambda loop=loop: asyncio.run(loop()))  # type: ignore[misc]
        assert result.response == "ok"
    assert children() == []


@pytest.mark.parametrize(
    ("said", "given", "size"), [(None, 1, 1), (None, 0, 0), (0, 1, 0), (3, 1, 3)]
)
def test_what_the_agent_says_goes_before_what_its_runner_gives(
    lab: Lab, said: int | None, given: int, size: int
) -> None:
    agent = lab.agent(None, settings={"warm_clients": said})
    backend = ClaudeBackend(agent, registry_of().with_warm_clients(given))
    assert backend.warm.size == size
