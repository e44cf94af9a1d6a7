"""Sync functions off the event loop: a daemon thread per call, with the caller's context.

A thread per call, not a pool: a pool's threads are joined when the interpreter exits, so one
blocked call would keep the program from ending, and a blocked thread is lost to a pool anyway.
How many run at once is bounded by the concurrency limit of each tool.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, ParamSpec, TypeVar

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(eq=False)
class Work:
    """The work of one tool call, as far as it can outlive the call.

    Attributes:
        label: What the log calls it, e.g. ``tool 'kb'``.
        leftovers: Done when a thread that was left behind has ended.
    """

    label: str
    leftovers: list[asyncio.Future[None]] = field(default_factory=list)


current_work: ContextVar[Work | None] = ContextVar("current_work", default=None)
"""The tool call that the running code belongs to; set by the call policy."""

_blocked: dict[threading.Thread, str] = {}
_running: set[threading.Thread] = set()
_blocked_lock = threading.Lock()


def blocked_threads() -> int:
    """How many threads are still running a call that was given up."""
    with _blocked_lock:
        return len(_blocked)


def running_threads() -> int:
    """How many threads are running a call, given up or not."""
    with _blocked_lock:
        return len(_running)


async def in_thread(func: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a sync function in a daemon thread of its own and return its result.

    The function sees the caller's context variables. A cancellation releases the caller at
    once; the thread cannot be stopped, so it is counted and logged until it ends.

    Raises:
        RuntimeError: The function raised something that must not travel through the event
            loop, such as SystemExit; that is the cause.
        Exception: What else the function raised.
    """
    work = current_work.get() or Work(getattr(func, "__qualname__", repr(func)))
    job: _Job[T] = _Job(asyncio.get_running_loop(), lambda: func(*args, **kwargs), work)
    job.thread.start()
    try:
        return await job.outcome
    except asyncio.CancelledError:
        job.leave_behind()
        if job.outcome.done() and not job.outcome.cancelled():
            job.outcome.exception()  # it came together with the cancellation; nobody asks for it
        raise


class _Job(Generic[T]):
    """One function in one thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, call: Callable[[], T], work: Work) -> None:
        self._loop = loop
        self._call = call
        self._work = work
        self._context = contextvars.copy_context()
        self._ended = loop.create_future()
        self._over = False
        self.outcome: asyncio.Future[T] = loop.create_future()
        self.thread = threading.Thread(target=self._run, name=work.label, daemon=True)

    def _run(self) -> None:
        with _blocked_lock:
            _running.add(self.thread)
        try:
            value = self._context.run(self._call)
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever awaits the call
            self._report(_raise_into, self.outcome, _ordinary(error))
        else:
            self._report(_return_into, self.outcome, value)
        with _blocked_lock:
            self._over = True
            _running.discard(self.thread)
            was_left_behind = _blocked.pop(self.thread, None)
        if was_left_behind:
            log.info("%s: the thread of a call that was given up has ended", was_left_behind)
        self._report(_return_into, self._ended, None)

    def _report(self, settle: Callable[..., None], *args: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any longer
            self._loop.call_soon_threadsafe(settle, *args)

    def leave_behind(self) -> None:
        """Count the thread, unless its function has ended."""
        with _blocked_lock:
            if self._over:
                return
            _blocked[self.thread] = self._work.label
            count = len(_blocked)
        self._work.leftovers.append(self._ended)
        log.warning(
            "%s: a call was given up but its thread still runs (%d such threads)",
            self._work.label,
            count,
        )


def _return_into(future: asyncio.Future[Any], value: object) -> None:
    if not future.done():
        future.set_result(value)


def _raise_into(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


def _ordinary(error: BaseException) -> Exception:
    """An exception that a future may carry and that ends no event loop."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    wrapped = RuntimeError(f"{type(error).__name__} raised in a thread: {error}")
    wrapped.__cause__ = error
    return wrapped
