"""Vectors of a search tool, made while it is searched already."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from holodeck_backend_claude.concurrency import end_task, in_loop, wait_out
from holodeck_backend_claude.failures import cause_text
from holodeck_backend_claude.retrieval import Index, IndexReport
from holodeck_backend_claude.retrieval.indexing.schema import DamagedIndexError

STOP_SECONDS = 5.0
"""How long the calls under way may go on when a tool closes, so that their vectors are kept."""


class Vectors:
    """One run that makes the vectors an index lacks, in a task of its own.

    It belongs to the event loop in which it was made; its methods may be awaited in others.

    Args:
        index: The index, its files up to date.
        mend: Builds an index anew that turns out damaged.
        done: Called with the report at the end.
        name: The tool's.
        log: Where it is told why a run ended early that nobody waits for.
    """

    def __init__(
        self,
        index: Index,
        *,
        mend: Callable[[DamagedIndexError], Awaitable[None]],
        done: Callable[[IndexReport], None],
        name: str,
        log: logging.Logger,
    ) -> None:
        self._index = index
        self._mend = mend
        self._done = done
        self._name = name
        self._label = f"tool {name!r}: making vectors"
        self._log = log
        self._is_wanted = True
        self._task = asyncio.create_task(self._run(), name=self._label)

    async def wait(self, *, seconds: float | None = None) -> bool:
        """Wait for the end of the run, at most so long.

        Returns:
            Whether it has ended.

        Raises:
            RetrievalError: The index cannot be read or written.
        """
        await in_loop(self._task.get_loop(), lambda: self._wait(seconds))
        if self._task.done() and not self._task.cancelled():
            self._task.result()
        return self._task.done()

    def tell_failure(self) -> None:
        """Log why the run ends early, if it does: from now on nobody waits for it."""
        self._task.add_done_callback(self._log_failure)

    async def stop(self) -> None:
        """End the run; the vectors that are made are kept."""
        self._is_wanted = False
        if not self._task.done():
            await in_loop(self._task.get_loop(), self._end)

    async def _wait(self, seconds: float | None) -> None:
        await asyncio.wait({self._task}, timeout=seconds)

    async def _end(self) -> None:
        await wait_out(self._task, seconds=STOP_SECONDS)
        if not self._task.done():
            await end_task(self._task, label=self._label)

    async def _run(self) -> None:
        try:
            report = await self._index.embed(is_wanted=self._wanted)
        except DamagedIndexError as damage:
            await self._mend(damage)
            report = await self._index.embed(is_wanted=self._wanted)
        self._done(report)

    def _wanted(self) -> bool:
        return self._is_wanted

    def _log_failure(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (cause := task.exception()) is not None:
            told = cause_text(cause)
            self._log.warning("tool %r: vectors cannot be made: %s", self._name, told)
