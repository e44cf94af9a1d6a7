"""How many calls of one tool run at once; a call keeps its slot until its work has really ended."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from weakref import WeakKeyDictionary

from holodeck_backend_claude.calls.refusals import CallRefusedError


class Slots:
    """The slots of one tool, counted for each event loop that calls it."""

    def __init__(self, limit: int, *, label: str) -> None:
        self._limit = limit
        self._label = label
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _LoopSlots] = WeakKeyDictionary()

    async def take(self) -> Slot:
        """Wait for a free slot.

        Raises:
            CallRefusedError: Every slot is held by a call that was given up and still runs.
        """
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            self._loops[loop] = _LoopSlots(self._limit, self._label)
        slots = self._loops[loop]
        await slots.take()
        return Slot(slots)


class Slot:
    """One taken slot."""

    def __init__(self, slots: _LoopSlots) -> None:
        self._slots = slots
        self._stuck = False

    def mark_stuck(self) -> None:
        """Say that the call was given up while its work goes on."""
        if not self._stuck:
            self._stuck = True
            self._slots.mark_stuck()

    def free_after(self, unfinished: Iterable[asyncio.Future[None]]) -> None:
        """Free the slot now, or when the last of the unfinished work has ended."""
        left = [work for work in unfinished if not work.done()]
        if left:
            self.mark_stuck()
            left[0].add_done_callback(lambda _: self.free_after(left))
            return
        self._slots.free(was_stuck=self._stuck)


class _LoopSlots:
    def __init__(self, limit: int, label: str) -> None:
        self._limit = limit
        self._label = label
        self._free = limit
        self._stuck = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        if self._stuck >= self._limit:
            raise self._refusal()
        if self._free > 0:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.free()  # the slot came together with the cancellation
            with suppress(ValueError):
                self._waiting.remove(turn)
            raise

    def free(self, *, was_stuck: bool = False) -> None:
        self._stuck -= was_stuck
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def mark_stuck(self) -> None:
        self._stuck += 1
        if self._stuck < self._limit:
            return
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_exception(self._refusal())

    def _refusal(self) -> CallRefusedError:
        return CallRefusedError(
            f"{self._label} takes no more calls: {self._limit} earlier ones were given up and "
            "still run; go on without it"
        )
