"""The time that a turn may take."""

from __future__ import annotations

import asyncio

from holodeck_backend_claude.claude.turns.request import Request


async def test_the_clock_stands_still_while_somebody_thinks_and_goes_on_afterwards() -> None:
    request = Request("Hi")
    async with request.limited(0.05):
        with request.paused(), request.paused():
            await asyncio.sleep(0.1)
        assert not request.is_stopped
        await asyncio.Event().wait()
    assert request.stopped_by == "timeout exceeded"


async def test_a_turn_that_is_stopped_while_somebody_thinks_ends() -> None:
    request = Request("Hi")
    async with request.limited(3_600):
        with request.paused():
            request.stop("interrupted")
            await asyncio.Event().wait()
    assert request.stopped_by == "interrupted"


async def test_without_a_clock_there_is_nothing_to_stop() -> None:
    with Request("Hi").paused():
        pass
