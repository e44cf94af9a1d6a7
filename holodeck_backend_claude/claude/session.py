"""A conversation with Claude Code, owned by one task.

The SDK's client belongs to the task that connected it. So each session has a task of its own,
which connects, runs one turn after the other as they are asked for, and disconnects; whoever
calls ``send`` only puts a request into its inbox and reads events from a queue. Leaving a stream
early, cancelling a ``send`` or running out of time stops the turn there, and the owner brings
the process back to a state in which the next turn can begin. A process that cannot be brought
back, or that died, is replaced when the next turn is asked for: its transcript is still in its
private folder.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from holodeck_backend_claude import outcomes
from holodeck_backend_claude.claude.process.renewed import RenewedClient, Tools
from holodeck_backend_claude.claude.turns.answers import Answers
from holodeck_backend_claude.claude.turns.inbox import Inbox
from holodeck_backend_claude.claude.turns.request import Request
from holodeck_backend_claude.claude.turns.running_calls import RunningCalls
from holodeck_backend_claude.claude.turns.sender import context_for
from holodeck_backend_claude.claude.turns.turn import Turn, is_of_turn
from holodeck_backend_claude.claude.turns.usage import NOTHING
from holodeck_backend_claude.concurrency import in_thread
from holodeck_backend_claude.contract import (
    BackendSessionError,
    ExecutionResult,
    FileInput,
    TurnEvent,
)
from holodeck_backend_claude.input_files import read_files
from holodeck_backend_claude.sessions import StreamedSession
from holodeck_backend_claude.tracing import NO_TRACE, TurnTrace

if TYPE_CHECKING:
    from holodeck_backend_claude.claude.permissions.gate import Gate
    from holodeck_backend_claude.claude.process.client import Client
    from holodeck_backend_claude.claude.server import Run
    from holodeck_backend_claude.claude.transcripts.beginning import Beginning
    from holodeck_backend_claude.contract import JsonSchema

Connect: TypeAlias = "Callable[[Run, Client | None], Awaitable[tuple[Client, Tools]]]"
"""Makes a client and its tools; given what runs calls, and the client that it replaces."""


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
        self._turn_seconds = turn_seconds
        self._gate = gate
        gate.pausing = self._paused
        self._schema = schema
        self._trace = trace
        self.next_trace: TurnTrace | None = None
        self._on_close = on_close
        self._inbox = Inbox()
        self._calls = RunningCalls(
            session_id=lambda: self.session_id,
            stop_turn=self._inbox.stop_current,
            context=self._context_for_call,
            trace=self._current_trace,
        )
        self._process = RenewedClient(lambda before: connect(self._calls.run, before))
        self._spent = NOTHING  # by the process that runs
        self._owner: asyncio.Task[None] | None = None
        self._ended_by: str | None = None
        self._connected_in = contextvars.copy_context()

    async def open(self) -> None:
        """Start the process.

        Raises:
            BackendSessionError: It did not start.
        """
        self._connected_in = contextvars.copy_context()
        started = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(started), name="holodeck-claude-session")
        try:
            await asyncio.shield(started)
        except BaseException:
            await self.close()
            raise

    @property
    def pid(self) -> int | None:
        """The process id of this session's Claude Code, while it runs."""
        return self._client.pid if self._client else None

    @property
    def is_ready(self) -> bool:
        """Whether it is open and its process runs, so that it can answer without a start."""
        usable = self._process.is_usable and self._ended_by is None
        return usable and self._process.running.is_running

    @property
    def _client(self) -> Client | None:
        return self._process.client

    # ---------------------------------------------------------------------- for the caller

    async def stream(
        self, message: str, *, files: Sequence[FileInput] = ()
    ) -> AsyncGenerator[TurnEvent, None]:
        """Run one turn, yielding typed events; see the contract."""
        self._check_can_take(message)
        ready = await in_thread(read_files, files) if files else ()
        self._check_can_take(message)  # it may have been closed meanwhile
        trace, self.next_trace = self.next_trace or self._trace(message), None
        request = Request(message, ready, trace=trace)
        self._inbox.put(request)
        try:
            async for event in request.events:
                yield event
        finally:
            request.stop(outcomes.INTERRUPTED)

    def _check_can_take(self, message: object) -> None:
        if not isinstance(message, str):
            raise TypeError(f"a message is a text, not a {type(message).__name__}")
        if self._ended_by is not None:
            raise BackendSessionError(f"the session cannot take a message: {self._ended_by}")
        if self._owner is None or self._owner.get_loop() is not asyncio.get_running_loop():
            raise BackendSessionError("the session belongs to another event loop")

    async def interrupt(self) -> bool:
        """Stop the turn that runs: it ends as "interrupted", and the next one can begin.

        Returns:
            Whether there was one; its result is there when this returns.
        """
        running = self._inbox.unended
        if running is None:
            return False
        running.stop(outcomes.INTERRUPTED)
        await running.ended.wait()
        return True

    async def close(self) -> None:
        """Stop what runs, end the process, remove its files; may be called twice."""
        if self._ended_by is None:
            self._ended_by = "it is closed"
            self._inbox.shut()
        if self._owner is None:  # it was never opened
            self._on_close(self)
        else:
            if self._process.is_starting:
                if self._client is not None:
                    self._client.kill()
                self._owner.cancel()
            # each step of the owner is bounded; a caller who is cancelled while it waits here
            # does not stop the owner from ending the process
            await asyncio.wait({self._owner})

    def abandon(self) -> None:
        """End the process from outside of the session's event loop, which runs no longer."""
        self._ended_by = self._ended_by or "its event loop has ended"
        if self._client is not None:
            self._client.abandon()
        self._on_close(self)

    def _paused(self) -> AbstractContextManager[None]:
        request = self._inbox.current
        return request.paused() if request else nullcontext()

    def _context_for_call(self) -> contextvars.Context:
        request = self._inbox.current
        if request is None:
            return contextvars.copy_context()
        return context_for(request.context, self._connected_in)

    def _current_trace(self) -> TurnTrace:
        request = self._inbox.current
        return NO_TRACE if request is None else request.trace

    # ----------------------------------------------------------------------- in the owner task

    async def _own(self, started: asyncio.Future[None]) -> None:
        try:
            await self._process.start()
        except BaseException as cause:
            self._ended_by = str(cause) or "it did not start"
            await self._end()
            if isinstance(cause, Exception):
                started.set_exception(cause)
                return
            started.set_exception(_closed_while_starting())
            started.exception()  # known, whether or not somebody still waits for the start
            raise
        started.set_result(None)
        try:
            while (request := await self._inbox.take()) is not None:
                await self._run_request(request)
                if self._ended_by is not None:
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
        self._inbox.answered(request)
        if self._ended_by is None and await self._process.refresh():
            self._spent = NOTHING

    async def _run_turn(self, request: Request) -> Turn:
        """Run a turn, on another process where the one there is turns out to have died before."""
        turn = self._new_turn()
        while not request.is_stopped:
            was_usable = self._process.is_usable
            try:
                if not was_usable:
                    await self._process.start()
                    self._spent = NOTHING
                turn = self._new_turn()
                await self._ask(turn, request)
                break
            except Exception as cause:  # noqa: BLE001  the SDK raises bare Exception for a dead CLI
                await self._process.discard()
                if request.begun or not was_usable:
                    request.stop(outcomes.CRASHED, self._process.described(cause))
        return turn

    def _new_turn(self) -> Turn:
        return Turn(self._process.tools, before=self._spent, schema=self._schema)

    async def _ask(self, turn: Turn, request: Request) -> None:
        if request.is_stopped:  # while a process was started for it
            return
        client = self._process.running
        answers = Answers(request.trace, self._process.tools) if request.trace.is_on else None
        async with request.limited(self._turn_seconds):
            request.sent = True
            await client.send(request.message, request.files)
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
            session_id=result.session_id or self.session_id,
            warnings=[*result.warnings, *([problem] if problem else [])],
        )

    async def _settle(self, turn: Turn, request: Request) -> None:
        """After a turn that did not end by itself: cancel its calls, free the process or end it."""
        self._calls.cancel()
        self._gate.cancel()
        await self._process.settle(
            is_over=turn.is_complete or not request.sent,
            goes_on=self._ended_by is None,
            feed=lambda message: list(turn.feed(message)),
        )

    async def _end(self) -> None:
        self._ended_by = self._ended_by or "it is closed"
        await asyncio.shield(asyncio.ensure_future(self._release()))
        self._inbox.end_all(self._ended_by)
        self._on_close(self)

    async def _release(self) -> None:
        await self._process.end()
        if self._recording is not None:
            await self._recording.close()


def _closed_while_starting() -> BackendSessionError:
    detail = "the session was closed while it started"
    return BackendSessionError(detail, result=outcomes.never_ran(outcomes.INTERRUPTED, detail))
