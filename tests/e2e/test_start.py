"""A Claude Code program that does not start, or does not end, as it should."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from holodeck_backend_claude.claude import backend as claude_backend
from holodeck_backend_claude.claude.process import client as claude_client
from holodeck_backend_claude.contract import BackendInitError, BackendSessionError
from holodeck_backend_claude.testing import say

from .lab import Lab


def program(lab: Lab, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """Put a shell script in the place of the ``claude`` program."""
    path = lab.folder / "claude-stand-in"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    for module in (claude_client, claude_backend):
        monkeypatch.setattr(module, "find_program", lambda: str(path))
    return path


async def test_a_program_that_dies_at_start_is_reported_with_its_last_words(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(lab, monkeypatch, "echo 'libfoo.so.1 not found' >&2; exit 7")
    backend = await lab.backend(await lab.api([say("never")]))
    with pytest.raises(BackendSessionError, match="did not start") as error:
        await backend.create_session()
    assert "libfoo.so.1 not found" in str(error.value)
    result = await backend.invoke_once("Hi")
    assert result.error_reason == "subprocess terminated unexpectedly"
    assert "libfoo.so.1 not found" in (result.error_detail or "")


async def test_a_program_that_is_not_executable_is_reported(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(lab, monkeypatch, "exit 0").chmod(0o644)
    backend = await lab.backend(await lab.api([say("never")]))
    with pytest.raises(BackendSessionError, match=r"(?i)permission denied"):
        await backend.create_session()


async def test_a_program_that_never_answers_is_given_up_and_killed_with_its_children(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = lab.folder / "grandchild"
    program(
        lab,
        monkeypatch,
        f"trap '' TERM; (sleep 300 & echo $! > {marker}); while :; do sleep 1; done",
    )
    monkeypatch.setattr(claude_client, "START_SECONDS", 1.0)
    monkeypatch.setattr(claude_client, "STOP_SECONDS", 0.5)
    backend = await lab.backend(await lab.api([say("never")]))
    async with asyncio.timeout(20):
        with pytest.raises(BackendSessionError, match="no answer within 1 s"):
            await backend.create_session()
    grandchild = Path("/proc") / marker.read_text().strip()
    stat = grandchild / "stat"
    assert not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] == "Z"


async def test_a_cancelled_start_leaves_no_process(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = lab.folder / "begun"
    program(lab, monkeypatch, f"touch {begun}; exec sleep 300")
    backend = await lab.backend(await lab.api([say("never")]))
    start = asyncio.create_task(backend.create_session())
    async with asyncio.timeout(10):
        while not begun.exists():
            await asyncio.sleep(0.01)
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start


async def test_an_installation_without_the_program_is_said_at_initialize(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claude_client, "bundled_cli", lambda: None)
    api = await lab.api([say("never")])
    with pytest.raises(BackendInitError, match="Reinstall claude-agent-sdk"):
        await lab.backend(api)


async def test_one_backend_after_the_other_in_two_event_loops(lab: Lab) -> None:
    api = await lab.api([say("A"), say("B")])

    def in_a_loop_of_its_own() -> str:
        async def run() -> str:
            backend = await lab.backend(api)
            result = await backend.invoke_once("Hi")
            await backend.teardown()
            return result.response

        return asyncio.run(run())

    assert await asyncio.to_thread(in_a_loop_of_its_own) == "A"
    assert await asyncio.to_thread(in_a_loop_of_its_own) == "B"
