"""One turn that somebody asked a session for: its message, its events, and how it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager

from holodeck_backend_claude import outcomes
from holodeck_backend_claude.consent import TurnClock
from holodeck_backend_claude.contract import ExecutionResult, InputFile, TurnEnd, TurnEvent
from holodeck_backend_claude.sessions import TurnEvents
from holodeck_backend_claude.tracing import NO_TRACE, TurnTrace


class Request:
    """One turn, from the question to its result.

    Attributes:
        message: What the user says.
        files: What goes along with it.
        events: Where whoever asked reads the turn.
        sent: Whether the process was given the message.
        begun: Whether the process has said anything about it, or has written the message down:
            from then on it may have done something, and is not asked again.
        stopped_by: The reason why the turn was ended from our side, if it was.
        detail: What is known about that reason.
        ended: Set once the result is among the events.
        context: The context variables of whoever asked.
        trace: The trace of the turn.
    """

    def __init__(
        self, message: str, files: Sequence[InputFile] = (), *, trace: TurnTrace = NO_TRACE
    ) -> None:
        self.message = message
        self.files = files
        self.events = TurnEvents()
        self.sent = False
        self.begun = False
        self.stopped_by: str | None = None
        self.detail: str | None = None
        self.ended = asyncio.Event()
        self.context = contextvars.copy_context()
        self.trace = trace
        self._clock = TurnClock()

    @property
    def is_stopped(self) -> bool:
        """Whether the turn was ended from our side, or is to be."""
        return self.stopped_by is not None

    @contextlib.asynccontextmanager
    async def limited(self, seconds: float) -> AsyncIterator[None]:
        """The time the turn may take; :meth:`stop` ends it before."""
        limit = asyncio.timeout(seconds)
        try:
            async with limit as self._clock.limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise  # somebody else's time limit
            self.stopped_by = self.stopped_by or outcomes.TIMED_OUT
        finally:
            self._clock.limit = None

    def paused(self) -> AbstractContextManager[None]:
        """The clock of the turn stands still meanwhile: somebody thinks about a question."""
        return self._clock.paused()

    def stop(self, reason: str, detail: str | None = None) -> None:
        """End the turn as soon as possible; the first reason stays."""
        if self.stopped_by is None:
            self.stopped_by, self.detail = reason, detail
        self._clock.run_out()

    def put(self, event: TurnEvent) -> None:
        """Hand an event to whoever asked."""
        self.trace.event(event)
        self.events.put(event)

    def end(self, result: ExecutionResult) -> None:
        """Give the result; only the first one counts."""
        if not self.ended.is_set():
            self.put(TurnEnd(result))
            self.ended.set()
