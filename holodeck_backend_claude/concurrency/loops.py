"""Work that belongs to an event loop, asked for from this one or from another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

_LOOK_EVERY = 0.1


async def in_loop(
    loop: asyncio.AbstractEventLoop, work: Callable[[], Coroutine[Any, Any, None]]
) -> bool:
    """Do something in the event loop that it belongs to, and wait for it.

    A caller in another loop that is cancelled meanwhile does not stop it.

    Args:
        loop: Where it belongs: this loop, or one that another thread runs.
        work: Makes the coroutine.

    Returns:
        Whether it was done; False where that loop does not run, or stopped before the end.
    """
    if loop is asyncio.get_running_loop():
        await work()
        return True
    if not loop.is_running():
        return False
    coroutine = work()
    try:
        there = asyncio.run_coroutine_threadsafe(coroutine, loop)
    except RuntimeError:  # it was closed meanwhile
        coroutine.close()
        return False
    ended = asyncio.wrap_future(there)
    while loop.is_running() and not ended.done():
        await asyncio.wait({ended}, timeout=_LOOK_EVERY)
    if not ended.done() or ended.cancelled():  # as asyncio.run does with what is left
        return False
    ended.result()
    return True
