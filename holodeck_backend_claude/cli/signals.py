"""Run a coroutine so that a signal that ends the process still lets it clean up."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_ENDING = (signal.SIGTERM, signal.SIGHUP)


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work``; Ctrl-C, SIGTERM and SIGHUP cancel it and wait until it has cleaned up.

    Raises:
        KeyboardInterrupt: After Ctrl-C.
        SystemExit: After one of the other signals, with the exit code that stands for it.
    """
    received: list[int] = []

    async def guarded() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop(number: int) -> None:
            received.append(number)
            if task is not None:
                task.cancel()

        ending = [number for number in _ENDING if signal.getsignal(number) != signal.SIG_IGN]
        for number in ending:
            loop.add_signal_handler(number, stop, number)
        try:
            return await work
        finally:
            for number in ending:
                loop.remove_signal_handler(number)

    try:
        return asyncio.run(guarded())
    except asyncio.CancelledError:
        if received:
            sys.exit(128 + received[0])
        raise
