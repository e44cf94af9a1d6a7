"""The turns that a session was asked for, one after the other, until the session ends."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from holodeck_backend_claude import outcomes

if TYPE_CHECKING:
    from holodeck_backend_claude.claude.turns.request import Request


class Inbox:
    """Those that wait, and the one that is being answered."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[Request | None] = asyncio.Queue()
        self._unanswered: deque[Request] = deque()  # the one that is being answered is the first

    @property
    def current(self) -> Request | None:
        """The turn that runs or is being settled, else the next one."""
        return self._unanswered[0] if self._unanswered else None

    @property
    def unended(self) -> Request | None:
        """The first turn that has no result yet."""
        return next((each for each in self._unanswered if not each.ended.is_set()), None)

    def put(self, request: Request) -> None:
        """Ask for a turn."""
        self._unanswered.append(request)
        self._waiting.put_nowait(request)

    async def take(self) -> Request | None:
        """Wait for the next turn; None once nothing more is to be done."""
        return await self._waiting.get()

    def answered(self, request: Request) -> None:
        """This one is done with."""
        self._unanswered.remove(request)

    def stop_current(self, reason: str, detail: str | None = None) -> None:
        """End the turn that runs as soon as possible."""
        if self.current is not None:
            self.current.stop(reason, detail)

    def shut(self) -> None:
        """Nothing more is to be done; stop the turn that runs."""
        self._waiting.put_nowait(None)
        self.stop_current(outcomes.INTERRUPTED)

    def end_all(self, why: str) -> None:
        """Give those that were not answered their result."""
        for request in self._unanswered:
            request.end(outcomes.never_ran(outcomes.INTERRUPTED, why))
