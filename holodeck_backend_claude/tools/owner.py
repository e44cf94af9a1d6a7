"""The task that owns one open tool: its context manager is entered and left there.

Scopes of anyio, as an MCP client has them, belong to the task that entered them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from holodeck_backend_claude.concurrency import end_task, in_loop, keep, wait_out
from holodeck_backend_claude.concurrency.threads import Work, current_work
from holodeck_backend_claude.failures import cause_text

SLOW_SECONDS = 10.0
"""How long a tool may take to open before the log names it; it may go on, like a long indexing."""


class OpenFailedError(Exception):
    """A tool did not open; the text says why, the cause is what was raised."""


class ToolOwner:
    """Opens one tool in a task of its own and keeps it open until it is told to close it.

    Args:
        enter: Makes the tool's context manager; called in the new task.
        label: The tool as the log names it.
        log: The tool's logger.
    """

    def __init__(
        self,
        enter: Callable[[], AbstractAsyncContextManager[Any]],
        *,
        label: str,
        log: logging.Logger,
    ) -> None:
        self._enter = enter
        self._label = label
        self._log = log
        self._stop = asyncio.Event()
        self._opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(), name=f"{label}: open")

    async def instance(self) -> Any:
        """The live instance, as soon as the tool is open.

        Raises:
            OpenFailedError: It did not open.
        """
        # unlike await, asyncio.wait leaves the future to others
        await asyncio.wait({self._opened}, timeout=SLOW_SECONDS)
        if not self._opened.done():
            self._log.warning("%s is still opening after %g s", self._label, SLOW_SECONDS)
            await asyncio.wait({self._opened})
        return self._opened.result()

    async def close(self, *, seconds: float) -> None:
        """Close the tool, or stop opening it; after ``seconds`` it is cancelled, then let go.

        That is done in the event loop that it was opened in. Where this runs no longer, nothing
        of the tool can run.
        """
        done = await in_loop(self._task.get_loop(), lambda: self._close(seconds))
        if not done and not self._task.done():
            keep(self._task)
            self._log.warning(
                "%s cannot be closed: the event loop in which it was opened runs no longer",
                self._label,
            )

    async def _close(self, seconds: float) -> None:
        if not self._opened.done():
            self._task.cancel()
        self._stop.set()
        await wait_out(self._task, seconds=seconds)
        if self._task.done():
            return
        self._log.warning("%s did not close within %g s; it is cancelled", self._label, seconds)
        await end_task(self._task, label=self._label)

    async def _run(self) -> None:
        current_work.set(Work(self._label))  # a thread left behind is logged with the tool's name
        try:
            async with self._enter() as instance:
                if not self._opened.done():
                    self._opened.set_result(instance)
                await self._stop.wait()
        # Whatever a tool raises here, even SystemExit, is the failure of that tool alone.
        except BaseException as error:  # noqa: BLE001
            self._failed(error)
        else:
            if not self._opened.done():  # the context manager swallowed its own failure
                self._failed(RuntimeError("it gave no instance"))

    def _failed(self, error: BaseException) -> None:
        if self._opened.done():
            # a cancellation is the event loop's end, or that of close(), which has said so
            level = logging.DEBUG if isinstance(error, asyncio.CancelledError) else logging.WARNING
            self._log.log(level, "%s ended with: %s", self._label, cause_text(error))
            return
        failure = OpenFailedError(cause_text(error))
        failure.__cause__ = error
        self._opened.set_exception(failure)
        self._opened.exception()  # known now, whether or not somebody still asks for it
