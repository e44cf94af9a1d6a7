"""Sessions that are connected ahead, each for the one conversation that asks for it next."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holodeck_backend_claude import outcomes
from holodeck_backend_claude.concurrency import in_loop
from holodeck_backend_claude.contract import BackendSessionError

if TYPE_CHECKING:
    from holodeck_backend_claude.claude.session import ClaudeSession

log = logging.getLogger(__name__)

# A start takes about one core, and whoever asks for answers meanwhile needs one too.
STARTS_AT_ONCE = max(1, (os.cpu_count() or 1) // 2)


@dataclass(frozen=True)
class _Spare:
    """A session that nobody has got yet.

    Attributes:
        session: The session.
        opening: Done when it is open (true) or has failed to open (false).
    """

    session: ClaudeSession
    opening: asyncio.Task[bool]


class WarmSessions:
    """Hands out sessions, each once: one that is connected already, where there is one.

    Args:
        make: Makes a session that is not open yet.
        size: How many to keep connected ahead; 0 connects each when it is asked for.

    Attributes:
        size: As given.
    """

    def __init__(self, make: Callable[[], ClaudeSession], *, size: int) -> None:
        self._make = make
        self.size = size
        self._spares: deque[_Spare] = deque()
        self._claimed: set[_Spare] = set()  # taken, but not handed out yet
        self._dropped: set[asyncio.Task[None]] = set()
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starts = asyncio.Semaphore(STARTS_AT_ONCE)
        # What is connected ahead is nobody's yet, and sees nobody's context variables.
        self._context = contextvars.copy_context()

    def fill(self) -> None:
        """Begin to connect what is missing; that goes on in the background."""
        if self._closed or not self.size:
            return
        self._enter_loop()
        while len(self._spares) < self.size:
            session = self._make()
            opening = asyncio.create_task(
                self._open(session), name="holodeck-claude-warm", context=self._context.copy()
            )
            self._spares.append(_Spare(session, opening))

    async def wait_filled(self) -> None:
        """Wait until everything that is being connected is connected, or has failed to."""
        while connecting := {s.opening for s in self._spares if not s.opening.done()}:
            await asyncio.wait(connecting)

    async def take(self) -> ClaudeSession:
        """An open session that nobody else has or gets.

        Raises:
            BackendSessionError: None was ready, and the one that was started did not start.
        """
        session = await self._take_ready()
        if session is None:
            session = self._make()
            await session.open()
        self.fill()
        return session

    async def close(self) -> None:
        """End the sessions that nobody has got, also those that are still being connected."""
        self._closed = True
        for spare in (*self._spares, *self._claimed):
            self._drop(spare)
        self._spares.clear()
        this = asyncio.get_running_loop()
        while ending := [each for each in self._dropped if each.get_loop() is this]:
            await asyncio.wait(ending)

    # -------------------------------------------------------------------------------- within

    async def _open(self, session: ClaudeSession) -> bool:
        try:
            async with self._starts:
                await session.open()
        except BackendSessionError as cause:
            # whoever comes next starts one anew, and gets to know what is wrong
            log.debug("a session was not connected ahead: %s", cause)
            return False
        return True

    async def _take_ready(self) -> ClaudeSession | None:
        if self.size:
            self._enter_loop()
        while self._spares:
            spare = self._spares.popleft()
            if not await self._is_connected(spare):
                continue
            if spare.session.is_ready:
                return spare.session
            log.debug("a session that was connected ahead has ended by itself")
            self._drop(spare)
        return None

    async def _is_connected(self, spare: _Spare) -> bool:
        """Wait until it is, or has failed to be; meanwhile it is ours, if not yet handed out."""
        self._claimed.add(spare)
        try:
            await asyncio.wait({spare.opening})
        except asyncio.CancelledError:
            if not self._closed:
                self._give_back(spare)
            raise
        finally:
            self._claimed.discard(spare)
        if self._closed:
            raise outcomes.interrupted("it was closed while a session was connected")
        return not spare.opening.cancelled() and spare.opening.result()

    def _give_back(self, spare: _Spare) -> None:
        if len(self._spares) >= self.size:
            self._drop(spare)
        else:
            self._spares.appendleft(spare)

    def _drop(self, spare: _Spare) -> None:
        ending = asyncio.create_task(_end(spare), name="holodeck-claude-warm-end")
        self._dropped.add(ending)
        ending.add_done_callback(self._dropped.discard)

    def _enter_loop(self) -> None:
        """Sessions belong to an event loop; those of another one are of no use in this."""
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        while self._spares:
            self._drop(self._spares.popleft())
        self._loop, self._starts = loop, asyncio.Semaphore(STARTS_AT_ONCE)


async def _end(spare: _Spare) -> None:
    await in_loop(spare.opening.get_loop(), lambda: _stop_opening(spare.opening))
    await spare.session.close()


async def _stop_opening(opening: asyncio.Task[bool]) -> None:
    opening.cancel()
    await asyncio.wait({opening})
