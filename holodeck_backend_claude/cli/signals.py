"""Run a coroutine so that a signal that ends the process still lets it clean up."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from holodeck_backend_claude.cli.ending import end_now
from holodeck_backend_claude.failures import LOOP_STOPPED

T = TypeVar("T")

BLOCKED_SECONDS = 3.0
"""How long the event loop may take to notice a signal before the process ends without it."""

BLOCKED = "a tool, or something else, blocks the event loop"

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work``; Ctrl-C, SIGTERM and SIGHUP cancel it and wait until it has cleaned up.

    A second signal ends the process at once, and so does the first where the event loop does not
    notice it because a tool blocks it.

    Raises:
        KeyboardInterrupt: After Ctrl-C.
        SystemExit: After one of the other signals, with the exit code that stands for it.
        ClickException: A tool stopped the event loop.
    """
    stop = _Stop()
    raised: list[RuntimeError] = []

    async def guarded() -> T:
        stop.task, stop.loop = asyncio.current_task(), asyncio.get_running_loop()
        try:
            return await work
        except RuntimeError as error:
            raised.append(error)
            raise

    with handled_by(stop):
        try:
            return asyncio.run(guarded())
        except asyncio.CancelledError:
            if stop.number is None:
                raise
        except RuntimeError as error:
            if error in raised:
                raise
            raise click.ClickException(LOOP_STOPPED) from error
    if stop.number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(128 + stop.number)


def end_unless_noticed(code: int) -> Callable[[], None]:
    """End the process soon, with this exit code; whoever notices the signal calls what it returns.

    For a signal that only the event loop can act on, and that it may be unable to notice.
    """
    return unless_noticed(lambda: end_now(code, BLOCKED))


def unless_noticed(act: Callable[[], object]) -> Callable[[], None]:
    """Call ``act``, in a thread, after :data:`BLOCKED_SECONDS`; what it returns prevents that."""
    watch = threading.Timer(BLOCKED_SECONDS, act)
    watch.daemon = True
    watch.start()
    return watch.cancel


class _Stop:
    """What a signal does: called between two instructions, also those that block the loop."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.task: asyncio.Task[Any] | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    def __call__(self, number: int, _frame: object) -> None:
        if self.number is not None:
            end_now(128 + number, "a second signal came before they were closed")
        if self.task is None or self.loop is None or self.loop.is_closed():
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)
        self.number = number
        self.loop.call_soon_threadsafe(self._take, end_unless_noticed(128 + number))

    def _take(self, noticed: Callable[[], None]) -> None:
        noticed()
        if self.task is not None:
            self.task.cancel()


@contextmanager
def handled_by(handler: Callable[[int, object], None]) -> Iterator[None]:
    """Let ``handler(number, frame)`` take the signals that end a program, but ignored ones."""
    before = {
        number: signal.signal(number, handler)
        for number in _ENDING
        if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)
