"""A tool that is closed from another event loop than it was opened in."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from holodeck_backend_claude.concurrency import in_thread
from holodeck_backend_claude.tools.owner import ToolOwner

log = logging.getLogger("tool")


class Tool:
    """Notes the loop that it is closed in."""

    def __init__(self) -> None:
        self.closed_in: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Tool]:
        yield self
        self.closed_in = asyncio.get_running_loop()

    async def owner(self) -> ToolOwner:
        owner = ToolOwner(self.open, label="tool 'kb'", log=log)
        await owner.instance()
        return owner


@pytest.mark.parametrize("is_closed", [False, True])
async def test_one_whose_event_loop_runs_no_longer_is_told_of(
    is_closed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    tool, loop = Tool(), asyncio.new_event_loop()
    owner = await in_thread(loop.run_until_complete, tool.owner())
    if is_closed:
        loop.close()
    await owner.close(seconds=100)
    assert tool.closed_in is None
    assert [record.message for record in caplog.records] == [
        "tool 'kb' cannot be closed: the event loop in which it was opened runs no longer"
    ]
    loop.close()


async def test_one_that_was_closed_before_its_event_loop_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tool, loop = Tool(), asyncio.new_event_loop()
    owner = await in_thread(loop.run_until_complete, tool.owner())
    await in_thread(loop.run_until_complete, owner.close(seconds=100))
    loop.close()
    await owner.close(seconds=100)
    assert caplog.text == ""


async def test_one_of_a_loop_in_another_thread_is_closed_there() -> None:
    tool, loop = Tool(), asyncio.new_event_loop()
    owner = await in_thread(loop.run_until_complete, tool.owner())
    thread = asyncio.create_task(in_thread(loop.run_forever))
    while not loop.is_running():
        await asyncio.sleep(0)
    await owner.close(seconds=100)
    assert tool.closed_in is loop
    loop.call_soon_threadsafe(loop.stop)
    await thread
    loop.close()
