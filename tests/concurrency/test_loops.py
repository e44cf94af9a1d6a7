"""Work in the event loop that it belongs to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from holodeck_backend_claude.concurrency import in_loop, in_thread


async def running(loop: asyncio.AbstractEventLoop) -> asyncio.Task[None]:
    """Have a thread run the loop."""
    task = asyncio.create_task(in_thread(loop.run_forever))
    ready = asyncio.Event()
    here = asyncio.get_running_loop()
    loop.call_soon_threadsafe(lambda: here.call_soon_threadsafe(ready.set))
    await ready.wait()
    return task


async def test_work_is_done_where_it_belongs() -> None:
    seen: list[asyncio.AbstractEventLoop] = []

    async def work() -> None:
        seen.append(asyncio.get_running_loop())

    here, other = asyncio.get_running_loop(), asyncio.new_event_loop()
    thread = await running(other)
    assert await in_loop(here, work)
    assert await in_loop(other, work)
    assert seen == [here, other]
    other.call_soon_threadsafe(other.stop)
    await thread
    other.close()


async def test_what_it_raises_is_raised() -> None:
    async def work() -> None:
        raise ValueError("no")

    other = asyncio.new_event_loop()
    thread = await running(other)
    for loop in (asyncio.get_running_loop(), other):
        with pytest.raises(ValueError, match="no"):
            await in_loop(loop, work)
    other.call_soon_threadsafe(other.stop)
    await thread
    other.close()


@pytest.mark.parametrize("closed", [False, True])
async def test_where_the_loop_does_not_run_nothing_is_done(closed: bool) -> None:
    other = asyncio.new_event_loop()
    if closed:
        other.close()
    assert not await in_loop(other, asyncio.Event().wait)  # type: ignore[arg-type]
    other.close()


def stop(loop: asyncio.AbstractEventLoop) -> None:
    loop.stop()


def cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.call_later(0.01, loop.stop)


@pytest.mark.parametrize("end", [stop, cancel_all])
async def test_a_loop_that_ends_before_the_work_does_is_told(
    end: Callable[[asyncio.AbstractEventLoop], None],
) -> None:
    other = asyncio.new_event_loop()
    thread = await running(other)

    async def work() -> None:
        other.call_soon(end, other)
        await asyncio.Event().wait()

    assert not await in_loop(other, work)
    await thread
    await in_thread(other.run_until_complete, end_all(other))
    other.close()


async def end_all(loop: asyncio.AbstractEventLoop) -> None:
    left = asyncio.all_tasks(loop) - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
