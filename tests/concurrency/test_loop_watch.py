"""What blocks an event loop is named, and nothing is said about one that runs."""

from __future__ import annotations

import asyncio
import logging
import threading
import time

import pytest

from holodeck_backend_claude.concurrency import loop_watch
from holodeck_backend_claude.concurrency.loop_watch import watched_loop


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_watch, "BLOCKED_SECONDS", 0.1)


def watching() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name == "holodeck-loop-watch"]


async def test_the_call_that_blocks_is_named_with_its_place(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, loop_watch.__name__)

    async def call(name: str) -> None:
        with watched_loop(name):
            await asyncio.sleep(0)
            if name == "tool 'bad'":
                while not caplog.records:
                    time.sleep(0.01)

    async with asyncio.TaskGroup() as group:
        for name in ("tool 'good'", "tool 'bad'"):
            group.create_task(call(name), name=name)
    blocked = caplog.records[0].getMessage()
    assert blocked.startswith("tool 'bad' has blocked the event loop for 0.1 s")
    assert "test_loop_watch.py:" in blocked


async def test_nothing_is_said_about_a_loop_that_runs(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop_watch, "BLOCKED_SECONDS", 4.0)  # it looks each second
    with watched_loop("tool 'kb'"):
        await asyncio.sleep(1.2)
    assert caplog.records == []


async def test_one_thread_watches_and_ends_with_the_last_call() -> None:
    with watched_loop("a"):
        thread = loop_watch._watches[asyncio.get_running_loop()].thread
        with watched_loop("b"):
            assert len(watching()) == 1
        assert len(watching()) == 1
    thread.join(5)
    assert watching() == []
