"""A conversation with Claude Code, as its callers see it.

The client belongs to a task of its own (``session_owner.py``); whoever calls ``send`` only puts a
request into its inbox and reads events from a queue. Leaving a stream early, cancelling a
``send`` or running out of time stops the turn there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TYPE_CHECKING

from holodeck_backend_claude import outcomes
from holodeck_backend_claude.claude.session_owner import SessionOwner
from holodeck_backend_claude.claude.turns.request import Request
from holodeck_backend_claude.concurrency import in_loop, in_thread, keep
from holodeck_backend_claude.contract import BackendSessionError, FileInput, TurnEvent
from holodeck_backend_claude.input_files import read_files
from holodeck_backend_claude.sessions import StreamedSession
from holodeck_backend_claude.tracing import NO_TRACE, TurnTrace

if TYPE_CHECKING:
    from holodeck_backend_claude.claude.connecting import Connect
    from holodeck_backend_claude.claude.permissions.gate import Gate
    from holodeck_backend_claude.claude.transcripts.beginning import Beginning
    from holodeck_backend_claude.contract import JsonSchema


class ClaudeSession(StreamedSession):
    """See :class:`~holodeck_backend_claude.contract.AgentSession`.

    Args:
        connect: Makes the client of this session, and another one after a crash.
        beginning: Its id, and where it is stored; what stores it is closed with the session.
        turn_seconds: How long one turn may take.
        gate: Decides on the calls of Claude Code's tools.
        schema: The form that answers have to have; None leaves them free.
        trace: Makes the trace of a turn from its message.
        on_close: Called once when the session has ended.

    Attributes:
        session_id: The id of the conversation.
        next_trace: The trace of the next turn, where it began before its message was sent.
    """

    def __init__(  # noqa: PLR0913  # all of them are what a session consists of
        self,
        connect: Connect,
        *,
        beginning: Beginning,
        turn_seconds: float,
        gate: Gate,
        schema: JsonSchema | None = None,
        trace: Callable[[str], TurnTrace] = lambda _message: NO_TRACE,
        on_close: Callable[[ClaudeSession], None] = lambda _session: None,
    ) -> None:
        self.session_id = beginning.session_id
        self._recording = beginning.recording
        self._owner = SessionOwner(
            connect, beginning=beginning, turn_seconds=turn_seconds, gate=gate, schema=schema
        )
        self._task: asyncio.Task[None] | None = None
        self._trace = trace
        self.next_trace: TurnTrace | None = None
        self._on_close = on_close

    async def open(self) -> None:
        """Start the process.

        Raises:
            BackendSessionError: It did not start.
        """
        self._owner.check_not_closed()
        started = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._own(started), name="holodeck-claude-session")
        try:
            await asyncio.shield(started)
        except BaseException:
            await self.close()
            raise

    @property
    def pid(self) -> int | None:
        """The process id of this session's Claude Code, while it runs."""
        client = self._owner.process.client
        return client.pid if client else None

    @property
    def not_stored(self) -> str | None:
        """Why its end is not in the store; None where everything is, or nothing is to be."""
        return self._recording.not_stored if self._recording else None

    @property
    def is_ready(self) -> bool:
        """Whether it is open and its process runs, so that it can answer without a start."""
        return self._owner.can_answer_at_once

    async def stream(
        self, message: str, *, files: Sequence[FileInput] = ()
    ) -> AsyncGenerator[TurnEvent, None]:
        """Run one turn, yielding typed events; see the contract."""
        self._check_can_take(message)
        ready = await in_thread(read_files, files) if files else ()
        self._check_can_take(message)  # it may have been closed meanwhile
        trace, self.next_trace = self.next_trace or self._trace(message), None
        request = Request(message, ready, trace=trace)
        self._owner.inbox.put(request)
        try:
            async for event in request.events:
                yield event
        finally:
            request.stop(outcomes.INTERRUPTED)

    async def interrupt(self) -> bool:
        """Stop the turn that runs: it ends as "interrupted", and the next one can begin.

        Returns:
            Whether there was one; its result is there when this returns.
        """
        running = self._owner.inbox.unended
        if running is None:
            return False
        running.stop(outcomes.INTERRUPTED)
        await running.ended.wait()
        return True

    async def close(self) -> None:
        """Stop what runs, end the process, remove its files; may be called twice.

        It may be called in any event loop: the session is closed in its own, and where that runs
        no longer, its process is ended from here.
        """
        task = self._task
        if task is None:  # it was never opened
            self._owner.shut()
            await self._owner.release()
            self._on_close(self)
        elif not task.done() and not await in_loop(task.get_loop(), lambda: self._close(task)):
            keep(task)  # with all that belongs to the loop, which could not end it in order
            await self._owner.abandon(task.get_loop())
            self._on_close(self)

    async def _close(self, task: asyncio.Task[None]) -> None:
        self._owner.shut()
        process = self._owner.process
        if process.is_starting:
            if process.client is not None:
                process.client.kill()
            task.cancel()
        # each step of the owner is bounded; a caller who is cancelled while it waits here does
        # not stop the owner from ending the process
        await asyncio.wait({task})

    async def _own(self, started: asyncio.Future[None]) -> None:
        try:
            await self._owner.run(started)
        finally:
            self._on_close(self)

    def _check_can_take(self, message: object) -> None:
        if not isinstance(message, str):
            raise TypeError(f"a message is a text, not a {type(message).__name__}")
        self._owner.check_not_closed()
        if self._task is None or self._task.get_loop() is not asyncio.get_running_loop():
            raise BackendSessionError("the session belongs to another event loop")
