"""A Claude Code program that is missing, does not start, or does not end."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from holodeck_backend_claude.claude.process import client as claude_client
from holodeck_backend_claude.contract import BackendSessionError
from tests.faults import scenario
from tests.faults.lab import FaultLab, each, ended, refusal
from tests.faults.registry import fault

CRASHED = "subprocess terminated unexpectedly"


async def how_it_fails(lab: FaultLab, *, says: str) -> str:
    """The reason of ``invoke_once``; a session raises an error with the same words in it."""
    backend = lab.backends[-1]
    error = await refusal(backend.create_session())
    assert isinstance(error, BackendSessionError)
    result = await backend.invoke_once("Hi")
    for text in (str(error), result.error_detail or ""):
        assert says.lower() in text.lower(), text
        assert "Traceback" not in text
    return ended(result)


@fault("program", "missing: not in the package, not on PATH", "BackendInitError")
async def test_program_missing(lab: FaultLab) -> str:
    with lab.monkeypatch.context() as patched:
        patched.setattr(claude_client, "bundled_cli", lambda: None)
        error = await refusal(lab.backend(await lab.api()))
    assert "Reinstall claude-agent-sdk" in str(error)
    await lab.backend(await lab.api())
    return type(error).__name__


@fault("program", "gone after initialize()", CRASHED)
async def test_program_gone(lab: FaultLab) -> str:
    stand_in, _ = await lab.backend_with_stand_in()
    stand_in.is_gone()
    return await how_it_fails(lab, says="no such file")


@fault("program", "not executable", CRASHED)
async def test_program_not_executable(lab: FaultLab) -> str:
    stand_in, _ = await lab.backend_with_stand_in()
    stand_in.path.chmod(0o644)
    return await how_it_fails(lab, says="permission denied")


@fault(
    "program",
    "not a program",
    {"another architecture": CRASHED, "a text": CRASHED, "a folder": CRASHED},
)
async def test_program_of_another_format(lab: FaultLab) -> dict[str, str]:
    stand_in, _ = await lab.backend_with_stand_in()

    async def try_one(value: str) -> str:
        if value == "a folder":
            stand_in.path.unlink()
            stand_in.path.mkdir()
            try:
                return await how_it_fails(lab, says="permission denied")
            finally:
                stand_in.path.rmdir()
        elf_of_nobody = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xff\xff" + bytes(44)
        stand_in.path.write_bytes(elf_of_nobody if "arch" in value else b"Not Found\n")
        return await how_it_fails(lab, says="exec format error")

    return await each(("another architecture", "a text", "a folder"), try_one)


@fault(
    "program",
    "of a version that the SDK does not know",
    {"1.0.0 (Claude Code)": "answer", "no version at all": "answer"},
)
async def test_program_of_a_wrong_version(lab: FaultLab) -> dict[str, str]:
    stand_in, backend = await lab.backend_with_stand_in()

    async def try_one(version: str) -> str:
        init = scenario.say("system", subtype="init")
        turn = (("wait_for_message", None), init, *scenario.spoken("Hello."))
        stand_in.plays(*turn, scenario.result("Hello."), version=version)
        return ended(await backend.invoke_once("Hi"))

    got = await each(("1.0.0 (Claude Code)", "no version at all"), try_one)
    assert "Minimum required version" in lab.caplog.text
    return got


@fault(
    "program",
    "dies at start",
    {"with words": CRASHED, "in silence": CRASHED, "by a signal": CRASHED},
)
async def test_program_dies_at_start(lab: FaultLab) -> dict[str, str]:
    stand_in, _ = await lab.backend_with_stand_in()
    ways = {
        "with words": "echo 'libfoo.so.1 not found' >&2; exit 7",
        "in silence": "exit 0",
        "by a signal": "kill -9 $$",
    }

    async def try_one(way: str) -> str:
        stand_in.is_replaced_by(ways[way])
        says = "libfoo.so.1 not found" if way == "with words" else "did not start"
        return await how_it_fails(lab, says=says)

    return await each(tuple(ways), try_one)


@fault("program", "never answers, ignores SIGTERM, and has a child", CRASHED)
async def test_program_never_answers(lab: FaultLab) -> str:
    stand_in, _ = await lab.backend_with_stand_in()
    stand_in.plays(("ignore_signals", None), ("spawn", None), ("hang", None))
    lab.monkeypatch.setattr(claude_client, "START_SECONDS", 0.5)
    lab.monkeypatch.setattr(claude_client, "STOP_SECONDS", 0.3)
    got = await how_it_fails(lab, says="no answer within 0.5 s")
    lab.monkeypatch.setattr(claude_client, "START_SECONDS", 30)
    return got


@fault("program", "answers the first request with an error", CRASHED)
async def test_program_refuses_to_initialize(lab: FaultLab) -> str:
    stand_in, _ = await lab.backend_with_stand_in()
    stand_in.plays(("refuse_to_initialize", "the organisation is disabled"))
    return await how_it_fails(lab, says="the organisation is disabled")


@fault("program", "writes what is no JSON before it begins", "answer")
async def test_program_prints_a_banner(lab: FaultLab) -> str:
    stand_in, backend = await lab.backend_with_stand_in()
    stand_in.plays(("raw", "Welcome!\n\n[debug] x"), *scenario.well())
    return ended(await backend.invoke_once("Hi"))


@fault("program", "floods stderr with 100 MB before it answers", "answer")
async def test_program_floods_stderr(lab: FaultLab) -> str:
    stand_in, backend = await lab.backend_with_stand_in()
    stand_in.plays(("wait_for_message", None), ("flood", 100 * 2**20), *scenario.well()[1:])
    session = await backend.create_session()
    result = await session.run_turn("Hi")
    assert session._owner.process.client is not None
    assert len(session._owner.process.client.last_words()) < 100_000
    return ended(result)


@fault("program", "ignores SIGTERM and the end of its stdin", "closed all the same")
async def test_program_does_not_end(lab: FaultLab) -> str:
    stand_in, backend = await lab.backend_with_stand_in()
    lab.monkeypatch.setattr(claude_client, "STOP_SECONDS", 0.5)
    stand_in.plays(("ignore_signals", None), *scenario.well(), ("hang", None))
    session = await backend.create_session()
    assert ended(await session.send("Hi")) == "answer"
    pid = session.pid
    await session.close()
    return "still there" if Path(f"/proc/{pid}").exists() else "closed all the same"


@fault("program", "ends and leaves a child behind that ignores SIGTERM", "answer")
async def test_program_leaves_a_grandchild(lab: FaultLab) -> str:
    stand_in, backend = await lab.backend_with_stand_in()
    stand_in.plays(("spawn", None), *scenario.well())
    return ended(await backend.invoke_once("Hi"))


@fault("program", "its start is cancelled", "CancelledError")
async def test_program_start_is_cancelled(lab: FaultLab) -> str:
    stand_in, backend = await lab.backend_with_stand_in()
    begun = lab.folder / "begun"
    os.mkfifo(begun)
    stand_in.is_replaced_by(f"echo > {begun}; exec sleep 300")
    start = asyncio.create_task(backend.create_session())
    await asyncio.to_thread(begun.read_text)  # returns when the program has begun
    start.cancel()
    await asyncio.wait({start})
    return "CancelledError" if start.cancelled() else repr(start.exception())
