"""Tasks that are ended in bounded time, whatever they do about it."""

from __future__ import annotations

import asyncio
import logging

import pytest

from holodeck_backend_claude.concurrency.tasks import end_task, let_go


async def stubborn(release: asyncio.Event) -> None:
    while not release.is_set():
        try:
            await release.wait()
        except asyncio.CancelledError:
            continue


async def test_a_task_that_ends_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    cleaned: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append("up")

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    await end_task(task, label="work")
    assert cleaned == ["up"]
    assert caplog.text == ""


async def test_a_task_that_ignores_its_cancellation_is_no_longer_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    release = asyncio.Event()
    task = asyncio.create_task(stubborn(release))
    await asyncio.sleep(0)
    await end_task(task, label="work", grace=0.01)
    assert task not in asyncio.all_tasks()
    assert "work ignores its cancellation; nothing waits for it any longer" in caplog.text
    release.set()
    await task


async def test_without_a_way_to_hide_a_task_from_the_loop_it_is_let_go_all_the_same(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(asyncio, "_unregister_task")
    caplog.set_level(logging.WARNING)
    release = asyncio.Event()
    task = asyncio.create_task(stubborn(release))
    await asyncio.sleep(0)
    let_go(task, label="work")
    assert "work ignores its cancellation" in caplog.text
    assert "waits for it when it closes" in caplog.text
    release.set()
    await task
