"""The task that owns the client of a session: it connects, runs turn after turn, disconnects.

The SDK's client belongs to the task that connected it. Whoever asks for a turn puts it into the
inbox; a turn that was stopped leaves the process in a state in which the next one can begin. A
process that cannot be brought back, or that died, is replaced when the next turn is asked for: its
transcript is still in its private folder.
"""

from __future__ import annotations

import asyncio
import contextvars
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from holodeck_backend_claude import outcomes
from holodeck_backend_claude.claude.process.renewed import RenewedClient
from holodeck_backend_claude.claude.turns.answers import Answers
from holodeck_backend_claude.claude.turns.inbox import Inbox
from holodeck_backend_claude.claude.turns.request import Request
from holodeck_backend_claude.claude.turns.running_calls import RunningCalls
from holodeck_backend_claude.claude.turns.sender import context_for
from holodeck_backend_claude.claude.turns.turn import Turn, is_of_turn
from holodeck_backend_claude.claude.turns.usage import NOTHING
from holodeck_backend_claude.contract import BackendSessionError, ExecutionResult
from holodeck_backend_claude.tracing import NO_TRACE, TurnTrace

if TYPE_CHECKING:
    from holodeck_backend_claude.claude.connecting import Connect
    from holodeck_backend_claude.claude.permissions.gate import Gate
    from holodeck_backend_claude.claude.transcripts.beginning import Beginning
    from holodeck_backend_claude.contract import JsonSchema

CLOSED = "it is closed"


class SessionOwner:
    """Runs the turns of one session; its :meth:`run` is the task.

    Args:
        connect: Makes the client of the session, and another one after a crash.
        beginning: Its id, and where it is stored; what stores it is closed with the session.
        turn_seconds: How long one turn may take.
        gate: Decides on the calls of Claude Code's tools.
        schema: The form that answers have to have; None leaves them free.

    Attributes:
        inbox: The turns that it was asked for.
        process: The process, and the one in its place.
        ended_by: Why it takes no further turn; None as long as it does.
    """

    def __init__(
        self,
        connect: Connect,
        *,
        beginning: Beginning,
        turn_seconds: float,
        gate: Gate,
        schema: JsonSchema | None = None,
    ) -> None:
        self._session_id = beginning.session_id
        self._recording = beginning.recording
        self._turn_seconds = turn_seconds
        self._gate = gate
        gate.pausing = self._paused
        self._schema = schema
        self.inbox = Inbox()
        self._calls = RunningCalls(
            session_id=lambda: self._session_id,
            stop_turn=self.inbox.stop_current,
            context=self._context_for_call,
            trace=self._current_trace,
        )
        self.process = RenewedClient(
            lambda before: connect(self._calls.run, before), session_id=beginning.session_id
        )
        self._spent = NOTHING  # by the process that runs
        self.ended_by: str | None = None
        self._connected_in = contextvars.copy_context()

    @property
    def can_answer_at_once(self) -> bool:
        """Whether its process runs and it takes turns."""
        return self.process.is_usable and self.ended_by is None and self.process.running.is_running

    def check_not_closed(self) -> None:
        """Raise where it was closed, or its event loop has ended.

        Raises:
            BackendSessionError: It was.
        """
        if self.ended_by is not None:
            raise outcomes.interrupted(f"the session cannot be used: {self.ended_by}")

    def shut(self) -> None:
        """Take no further turn, stop the one that runs, and end."""
        if self.ended_by is None:
            self.ended_by = CLOSED
            self.inbox.shut()

    async def run(self, started: asyncio.Future[None]) -> None:
        """Own the client from its start to its end.

        Args:
            started: Done once the process runs, or with the error that it did not start with.
        """
        self._connected_in = contextvars.copy_context()
        try:
            self.check_not_closed()
            await self.process.start()
            self.check_not_closed()
        except BaseException as cause:
            is_ours = isinstance(cause, Exception) and self.ended_by is None
            self.ended_by = self.ended_by or str(cause) or "it did not start"
            await self._end()
            closed = outcomes.interrupted("the session was closed while it started")
            started.set_exception(cause if is_ours else closed)
            started.exception()  # known, whether or not somebody still waits for the start
            if isinstance(cause, Exception):
                return
            raise
        started.set_result(None)
        try:
            while (request := await self.inbox.take()) is not None:
                await self._run_request(request)
                if self.ended_by is not None:
                    break
        finally:
            await self._end()

    async def _run_request(self, request: Request) -> None:
        request.trace.begin()
        try:
            turn = await self._run_turn(request)
        except asyncio.CancelledError:
            request.end(outcomes.never_ran(outcomes.INTERRUPTED, "the session was closed"))
            raise
        result = turn.result(stopped_by=request.stopped_by, detail=request.detail)
        request.end(await self._stored(result))
        await self._settle(turn, request)
        self._spent = turn.after
        self.inbox.answered(request)
        if self.ended_by is None and await self.process.refresh():
            self._spent = NOTHING

    async def _run_turn(self, request: Request) -> Turn:
        """Run a turn, on another process where the one there is turns out to have died before."""
        turn = self._new_turn()
        while not request.is_stopped:
            was_usable = self.process.is_usable
            try:
                if not was_usable:
                    await self.process.start()
                    self._spent = NOTHING
                turn = self._new_turn()
                await self._ask(turn, request)
                break
            except Exception as cause:  # noqa: BLE001  the SDK raises bare Exception for a dead CLI
                await self.process.discard()
                # What is in the transcript may be in a store as well, and cannot be taken back: a
                # message that is there was said, and another process would be told it twice.
                request.begun |= request.sent and self.process.has_noted_message
                if request.begun or not was_usable:
                    request.stop(outcomes.CRASHED, self.process.described(cause))
        return turn

    def _new_turn(self) -> Turn:
        return Turn(self.process.tools, before=self._spent, schema=self._schema)

    async def _ask(self, turn: Turn, request: Request) -> None:
        if request.is_stopped:  # while a process was started for it
            return
        client = self.process.running
        answers = Answers(request.trace, self.process.tools) if request.trace.is_on else None
        async with request.limited(self._turn_seconds):
            request.sent = True
            await self.process.send(request.message, request.files)
            async for message in client.receive():
                request.begun |= is_of_turn(message)
                if answers is not None:
                    answers.feed(message)
                for event in turn.feed(message):
                    request.put(event)
                if (stop := turn.to_be_stopped) is not None:
                    request.stop(*stop)
                    return
            if not turn.is_complete:
                raise BackendSessionError("the process ended without a result")

    async def _stored(self, result: ExecutionResult) -> ExecutionResult:
        """The result, once the turn is in the store, or with a warning that it is not."""
        problem = await self._recording.settle() if self._recording else None
        return replace(
            result,
            permission_denials=self._gate.take_denials(result),
            session_id=result.session_id or self._session_id,
            warnings=[*result.warnings, *([problem] if problem else [])],
        )

    async def _settle(self, turn: Turn, request: Request) -> None:
        """After a turn that did not end by itself: cancel its calls, free the process or end it."""
        self._calls.cancel()
        self._gate.cancel()
        await self.process.settle(
            is_over=turn.is_complete or not request.sent,
            goes_on=self.ended_by is None,
            feed=lambda message: list(turn.feed(message)),
        )

    async def abandon(self, loop: asyncio.AbstractEventLoop) -> None:
        """End the process from another event loop, where that of the owner runs no longer."""
        self.ended_by = self.ended_by or "its event loop has ended"
        if self.process.client is not None:
            self.process.client.abandon()
        with suppress(RuntimeError):  # the loop is closed; if not, it may run once more
            loop.call_soon_threadsafe(self.inbox.shut)
        await self._close_recording()

    async def _end(self) -> None:
        self.ended_by = self.ended_by or CLOSED
        await asyncio.shield(asyncio.ensure_future(self.release()))
        self.inbox.end_all(self.ended_by)

    async def release(self) -> None:
        """End the process, and what stores the conversation."""
        await self.process.end()
        await self._close_recording()

    async def _close_recording(self) -> None:
        if self._recording is not None:
            await self._recording.close()

    def _paused(self) -> AbstractContextManager[None]:
        request = self.inbox.current
        return request.paused() if request else nullcontext()

    def _context_for_call(self) -> contextvars.Context:
        request = self.inbox.current
        if request is None:
            return contextvars.copy_context()
        return context_for(request.context, self._connected_in)

    def _current_trace(self) -> TurnTrace:
        request = self.inbox.current
        return NO_TRACE if request is None else request.trace
