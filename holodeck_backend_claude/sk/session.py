"""A conversation that remembers its turns; each turn runs in a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TYPE_CHECKING

from holodeck_backend_claude import outcomes
from holodeck_backend_claude.concurrency import in_thread
from holodeck_backend_claude.concurrency.tasks import end_task, wait_out
from holodeck_backend_claude.contract import BackendSessionError, FileInput, TurnEvent
from holodeck_backend_claude.sessions import StreamedSession, TurnEvents
from holodeck_backend_claude.sk.files import read_taken
from holodeck_backend_claude.sk.turn import Turn, TurnFailedError
from holodeck_backend_claude.tracing import NO_TRACE, TurnTrace

if TYPE_CHECKING:
    from holodeck_backend_claude.consent import Consent
    from holodeck_backend_claude.sk.agent import KernelAgent
    from holodeck_backend_claude.sk.history import Conversation

CLOSE_SECONDS = 5.0
"""How long a running turn may take to stop."""


class SKSession(StreamedSession):
    """See :class:`~holodeck_backend_claude.contract.AgentSession`.

    Whoever asks for a turn reads its events from a queue. Leaving a stream early and cancelling
    a ``send`` cancel the turn; what it had done by then stays in the conversation.

    Args:
        agent: Runs the turns.
        conversation: What is remembered.
        session_id: The id of the conversation.
        max_turns: Model answers of one turn at most.
        consent: Who agrees to calls of destructive tools; None means that nobody can be asked.
        trace: Makes the trace of a turn from its message.
        on_close: Called once when the session is closed.
    """

    def __init__(  # noqa: PLR0913  # all of them are what a session consists of
        self,
        agent: KernelAgent,
        conversation: Conversation,
        *,
        session_id: str,
        max_turns: int | None,
        consent: Consent | None = None,
        trace: Callable[[str], TurnTrace] = lambda _message: NO_TRACE,
        on_close: Callable[[SKSession], None] = lambda _session: None,
    ) -> None:
        self.session_id = session_id
        self._agent = agent
        self._conversation = conversation
        self._max_turns = max_turns
        self._consent = consent
        self._trace = trace
        self._on_close = on_close
        self._one_at_a_time = asyncio.Lock()
        self._running: set[asyncio.Task[None]] = set()
        self._closed = False

    async def stream(
        self, message: str, *, files: Sequence[FileInput] = ()
    ) -> AsyncGenerator[TurnEvent, None]:
        """Run one turn, yielding typed events; see the contract."""
        ready = await in_thread(read_taken, files) if files else ()
        if self._closed:
            raise BackendSessionError(
                "the session is closed; begin another with backend.create_session()"
            )
        events = TurnEvents()
        turn = Turn(
            message,
            files=ready,
            session_id=self.session_id,
            max_turns=self._max_turns,
            schema=self._agent.response_schema,
            report=events.put,
            trace=self._trace(message),
            consent=self._consent,
        )
        task = asyncio.create_task(self._run(turn), name=f"turn of {self.session_id}")
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            async for event in events:
                yield event
        finally:
            await end_task(task, label=task.get_name(), grace=CLOSE_SECONDS)

    async def close(self) -> None:
        """Stop what runs and forget the conversation; may be called twice."""
        if not self._closed:
            self._closed = True
            self._on_close(self)
            for task in tuple(self._running):
                task.cancel()
        for task in tuple(self._running):
            await wait_out(task, seconds=CLOSE_SECONDS)
        await self._conversation.thread.delete()

    async def _run(self, turn: Turn) -> None:
        try:
            async with self._one_at_a_time:
                await self._agent.run(turn, self._conversation)
        finally:
            turn.end(TurnFailedError(outcomes.INTERRUPTED))  # counts only where nothing ended it
