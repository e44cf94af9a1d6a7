"""Conversations that are stored, resumed, forked and claimed, in one program and in several."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import tests
from holodeck_backend_claude.claude.backend import ClaudeBackend
from holodeck_backend_claude.claude.transcripts.stored import stored_sessions
from holodeck_backend_claude.contract import (
    BackendInitError,
    BackendSessionError,
    StoredSession,
)
from holodeck_backend_claude.testing import (
    Answer,
    ModelRequest,
    ScriptedMessagesAPI,
    call_tool,
    forever,
    say,
)
from tests.support.postgres import PostgresServer
from tests.support.probes import Probe, probe_schema, registry_of

from .lab import Lab, children

SQLITE = {"sessions": {"store": "sqlite"}}
UNKNOWN = "7feef9f0-2267-4b41-8b8b-d15239d752ab"


def said(request: ModelRequest) -> str:
    return json.dumps(request.body["messages"])


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The ``claude:`` block with a store of each kind."""
    if request.param == "sqlite":
        return SQLITE
    url = request.getfixturevalue("postgres").new_schema()
    return {"sessions": {"store": "postgres", "url": url}}


async def in_store(backend: ClaudeBackend) -> list[StoredSession]:
    opening = stored_sessions(backend._agent)
    assert opening is not None
    async with opening as stored:
        return list(await stored.newest_first())


async def test_a_conversation_goes_on_under_its_id_in_another_session(
    lab: Lab, settings: dict[str, Any]
) -> None:
    api = await lab.api([say("Noted, 41."), say("You said 41."), say("41 again.")])
    backend = await lab.backend(api, settings=settings)
    session = await backend.create_session()
    first = await session.send("Remember 41.")
    assert first.session_id == session.session_id
    await session.close()
    resumed = await backend.create_session(resume=first.session_id)
    second = await resumed.send("What did I say?")
    assert second.session_id == first.session_id
    assert second.warnings == []
    assert "Remember 41." in said(api.requests[1])
    assert "Noted, 41." in said(api.requests[1])
    await resumed.close()
    third = await (await backend.create_session(resume=first.session_id)).send("And now?")
    assert third.response == "41 again."
    assert said(api.requests[2]).count("Remember 41.") == 1
    assert said(api.requests[2]).count("What did I say?") == 1
    (stored,) = await in_store(backend)
    assert (stored.session_id, stored.title) == (first.session_id, "Remember 41.")


async def test_a_fork_begins_with_the_history_and_leaves_the_old_one_as_it_is(
    lab: Lab, settings: dict[str, Any]
) -> None:
    api = await lab.api([say("Noted."), say("In the fork."), say("In the old one."), say("Fork.")])
    backend = await lab.backend(api, settings=settings)
    old = await backend.create_session()
    await old.send("Remember 41.")
    fork = await backend.create_session(resume=old.session_id, fork=True)  # while it is in use
    forked = await fork.send("Only in the fork")
    assert forked.session_id == fork.session_id != old.session_id
    assert "Remember 41." in said(api.requests[1])
    await old.close()
    await (await backend.create_session(resume=old.session_id)).send("Again")
    assert "Remember 41." in said(api.requests[2])
    assert "Only in the fork" not in said(api.requests[2])
    await fork.close()
    await (await backend.create_session(resume=fork.session_id)).send("Fork again")
    assert "Remember 41." in said(api.requests[3])
    assert "Only in the fork" in said(api.requests[3])
    assert {s.session_id for s in await in_store(backend)} == {old.session_id, fork.session_id}


async def test_tool_calls_are_part_of_what_is_resumed(lab: Lab) -> None:
    probe = Probe("kb", lambda _: "the tool's finding", probe_schema())
    api = await lab.api([call_tool("kb", {"query": "x"}), say("Found."), say("Yes.")])
    backend = await lab.backend(api, probe, settings=SQLITE)
    session = await backend.create_session()
    await session.send("Look it up")
    await session.close()
    await (await backend.create_session(resume=session.session_id)).send("Again?")
    assert "the tool's finding" in said(api.requests[-1])
    assert len(probe.calls) == 1


async def test_the_work_of_a_subagent_is_stored_and_in_the_private_folder_of_a_resumed_session(
    lab: Lab,
) -> None:
    finder = {"finder": {"description": "Finds things", "prompt": "You find things."}}
    to_finder = {"description": "find it", "prompt": "find x", "subagent_type": "finder"}

    def answer(request: ModelRequest) -> Answer:
        if "You find things." in request.system:
            return say("the subagent's words")
        return say("ok") if request.tool_results else call_tool("Agent", to_finder)

    api = await lab.api(answer)
    backend = await lab.backend(api, settings={**SQLITE, "agents": finder})
    session = await backend.create_session()
    await session.send("Where is x?")
    await session.close()
    resumed = await backend.create_session(resume=session.session_id)
    assert (await resumed.send("Sure?")).response == "ok"
    assert "the subagent's words" in said(api.requests[-1])
    client = resumed._owner.process.client
    assert client is not None
    assert client.folder is not None
    of_subagents = list(client.folder.configuration.rglob("subagents/*.jsonl"))
    assert len(of_subagents) == 2  # that of the turn before, and that of this one
    assert all("the subagent's words" in path.read_text() for path in of_subagents)


@pytest.mark.parametrize("wrong", [UNKNOWN, "no-id", "../../etc/passwd", ""])
async def test_an_unknown_id_is_refused_before_any_process(
    lab: Lab, settings: dict[str, Any], wrong: str
) -> None:
    backend = await lab.backend(await lab.api([]), settings=settings)
    with pytest.raises(BackendSessionError) as error:
        await backend.create_session(resume=wrong)
    assert f"no conversation {wrong!r} of the agent 'probe agent' in " in str(error.value)
    assert ("sessions.db" if settings is SQLITE else "127.0.0.1") in str(error.value)
    assert children() == []


async def test_what_is_no_text_is_no_id_and_a_long_one_is_not_repeated(lab: Lab) -> None:
    backend = await lab.backend(await lab.api([]), settings=SQLITE)
    for wrong in (5, b"x"):
        with pytest.raises(TypeError, match=r"resume= takes .* a text, not a (int|bytes)"):
            await backend.create_session(resume=wrong)  # type: ignore[arg-type]
    with pytest.raises(BackendSessionError) as error:
        await backend.create_session(resume="x" * 10_000_000)
    assert len(str(error.value)) < 1_000


async def test_what_cannot_be_resumed_says_why(lab: Lab) -> None:
    backend = await lab.backend(await lab.api([]))
    with pytest.raises(BackendSessionError, match=r"set claude\.sessions\.store"):
        await backend.create_session(resume=UNKNOWN)
    with pytest.raises(ValueError, match="fork=True needs resume="):
        await backend.create_session(fork=True)


async def test_a_conversation_that_is_in_use_is_not_resumed_a_second_time(
    lab: Lab, settings: dict[str, Any]
) -> None:
    api = await lab.api(forever(say("ok")))
    backend = await lab.backend(api, settings=settings)
    session = await backend.create_session()
    await session.send("Hi")
    other = ClaudeBackend(backend._agent, registry_of())
    await other.initialize()
    with pytest.raises(BackendSessionError, match="is in use by another session"):
        await other.create_session(resume=session.session_id)
    assert (await session.send("Still here?")).response == "ok"
    await session.close()
    await other.create_session(resume=session.session_id)
    await other.teardown()


async def test_a_turn_is_in_the_store_when_send_returns(lab: Lab, settings: dict[str, Any]) -> None:
    api = await lab.api(forever(say("the answer")))
    backend = await lab.backend(api, settings=settings)
    session = await backend.create_session()
    for turn in range(2):
        await session.send(f"question {turn}")
        fork = await backend.create_session(resume=session.session_id, fork=True)
        await fork.send("fork")
        for earlier in range(turn + 1):
            assert f"question {earlier}" in said(api.requests[-1])
        await fork.close()


async def test_only_conversations_are_stored_and_only_where_the_agent_says_so(lab: Lab) -> None:
    api = await lab.api(forever(say("ok")))
    backend = await lab.backend(api, settings=SQLITE)
    await backend.invoke_once("Hi")
    assert await in_store(backend) == []
    assert (lab.folder / ".holodeck" / "sessions.db").exists()
    silent = await lab.backend(api)
    await (await silent.create_session()).send("Hi")
    assert await in_store(backend) == []


async def test_conversations_nobody_continued_for_keep_days_are_deleted_at_the_start(
    lab: Lab, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    api = await lab.api(forever(say("ok")))
    backend = await lab.backend(api, settings=settings)
    days = 86_400_000
    from holodeck_backend_claude.claude.transcripts import postgres, sqlite, store

    now = store.now_ms()
    for age in (8, 6):
        for module in (postgres, sqlite):
            monkeypatch.setattr(module, "now_ms", lambda age=age: now - age * days)
        await (await backend.create_session()).send(f"{age} days ago")
    await backend.teardown()
    kept = {"sessions": {**settings["sessions"], "keep_days": 7}}
    later = await lab.backend(api, settings=kept)
    assert [session.title for session in await in_store(later)] == ["6 days ago"]


async def test_a_store_that_does_not_work_is_an_error_of_the_start(lab: Lab) -> None:
    (lab.folder / ".holodeck").write_text("in the way")
    with pytest.raises(BackendInitError, match=r"sessions\.db cannot be used"):
        await lab.backend(await lab.api([]), settings=SQLITE)
    away = {"sessions": {"store": "postgres", "url": "postgresql://u:pw@127.0.0.1:1/x"}}
    with pytest.raises(BackendInitError, match=r"database 'x' on 127\.0\.0\.1:1 cannot be used"):
        await lab.backend(await lab.api([]), settings=away)


async def test_what_a_store_that_is_away_does_not_take_is_told_and_taken_later(
    lab: Lab, postgres: PostgresServer
) -> None:
    api = await lab.api(forever(say("ok")))
    url = postgres.new_schema()
    backend = await lab.backend(api, settings={"sessions": {"store": "postgres", "url": url}})
    session = await backend.create_session()
    assert (await session.send("one")).warnings == []
    postgres.stop()
    try:
        result = await session.send("two")
    finally:
        postgres.start()
    assert result.response == "ok"
    (warning,) = result.warnings
    assert "not stored to its end" in warning
    assert postgres.password not in warning
    assert (await session.send("three")).warnings == []
    await session.close()
    await (await backend.create_session(resume=session.session_id)).send("four")
    for word in ("one", "two", "three"):
        assert f'"{word}"' in said(api.requests[-1])


async def test_a_session_that_begins_while_the_backend_ends_leaves_nothing(
    lab: Lab, settings: dict[str, Any]
) -> None:
    backend = await lab.backend(await lab.api([]), settings=settings)
    beginning = asyncio.create_task(backend.create_session())
    await asyncio.sleep(0)
    await backend.teardown()
    with pytest.raises(BackendSessionError):
        await beginning


# ------------------------------------------------------------------------- several programs


@asynccontextmanager
async def program(folder: Path, **arguments: Any) -> AsyncIterator[dict[str, Any]]:
    """What a program of its own reports after its turn; it is killed at the end of the block."""
    for name in ("home", "tmp", "cwd"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    root = str(Path(tests.__file__).parents[1])
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).with_name("chatting_program.py")),
        json.dumps({"resume": None, "fork": False, **arguments}),
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": root,
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
        },
        cwd=folder / "cwd",
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        yield json.loads(await asyncio.wait_for(process.stdout.readline(), 40))
    finally:
        process.send_signal(signal.SIGKILL)
        await process.communicate()


def agent_file(folder: Path, api: ScriptedMessagesAPI, sessions: str) -> str:
    folder.mkdir()
    path = folder / "agent.yaml"
    path.write_text(
        f"""
name: travelling agent
model:
  provider: anthropic
  name: claude-sonnet-4-5
  api_key: sk-ant-dummy-key-0001
  endpoint: {api.url}
instructions: {{inline: Answer.}}
claude:
  sessions: {sessions}
"""
    )
    return str(path)


@pytest.mark.parametrize("store", ["postgres", "sqlite"])
@pytest.mark.timeout(180)  # four processes, one after the other
async def test_a_chat_begun_on_one_machine_continues_on_another_after_a_kill_9(
    tmp_path: Path, lab: Lab, request: pytest.FixtureRequest, store: str
) -> None:
    if store == "postgres":
        place = f"{{store: postgres, url: '{request.getfixturevalue('postgres').new_schema()}'}}"
    else:
        place = f"{{store: sqlite, path: '{tmp_path / 'shared.db'}'}}"
    api = await lab.api([say("Noted, 41."), say("You said 41.")])
    here, there = tmp_path / "here", tmp_path / "there"
    async with program(here, agent=agent_file(here, api, place), message="Remember 41.") as first:
        assert first["response"] == "Noted, 41."
    agent = agent_file(there, api, place)
    async with program(there, agent=agent, message="What?", resume=first["id"]) as second:
        assert second == {"id": first["id"], "response": "You said 41."}
    assert "Remember 41." in said(api.requests[1])
    assert "Noted, 41." in said(api.requests[1])
