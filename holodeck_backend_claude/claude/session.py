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
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from holodeck_backend_claude import outcomes
from holodeck_backend_claude.claude.process.client import Client
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

if TYPE_CHECKING:
    from holodeck_backend_claude.calls import BoundTool
    from holodeck_backend_claude.claude.permissions.gate import Gate
    from holodeck_backend_claude.claude.server import Run
    from holodeck_backend_claude.claude.transcripts.recording import Recording
    from holodeck_backend_claude.contract import JsonSchema

Connect: TypeAlias = "Callable[[Run, Client | None], Awaitable[tuple[Client, Tools]]]"
"""Makes a client and its tools; given what runs calls, and the client that it replaces."""

Tools: TypeAlias = "Mapping[str, BoundTool]"


class ClaudeSession(StreamedSession):
    """See :class:`~holodeck_backend_claude.contract.AgentSession`.

    Args:
        connect: Makes the client of this session, and another one after a crash.
        session_id: The id of the conversation.
        turn_seconds: How long one turn may take.
        gate: Decides on the calls of Claude Code's tools.
        schema: The form that answers have to have; None leaves them free.
        recording: Takes the conversation to a store; closed with the session.
        on_close: Called once when the session has ended.
    """

    def __init__(
        self,
        connect: Connect,
        *,
        session_id: str,
        turn_seconds: float,
        gate: Gate,
        schema: JsonSchema | None = None,
        recording: Recording | None = None,
        on_close: Callable[[ClaudeSession], None] = lambda _session: None,
    ) -> None:
        self.session_id = session_id
        self._connect = connect
        self._turn_seconds = turn_seconds
        self._gate = gate
        gate.pausing = self._paused
        self._schema = schema
        self._recording = recording
        self._on_close = on_close
        self._inbox: asyncio.Queue[Request | None] = asyncio.Queue()
        self._requests: deque[Request] = deque()  # those without a result, the running one first
        self._calls = RunningCalls(
            session_id=lambda: self.session_id,
            stop_turn=self._stop_turn,
            context=self._context_for_call,
        )
        self._owner: asyncio.Task[None] | None = None
        self._ended_by: str | None = None
        self._client: Client | None = None
        self._tools: Tools = {}
        self._starting = True  # whether a process is being started
        self._usable = False  # whether there is a process that can take a turn
        self._idle = True  # whether it is between two turns
        self._spent = NOTHING
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
        client = self._client if self._usable and self._ended_by is None else None
        return client is not None and client.is_running

    # ---------------------------------------------------------------------- for the caller

    async def stream(
        self, message: str, *, files: Sequence[FileInput] = ()
    ) -> AsyncGenerator[TurnEvent, None]:
        """Run one turn, yielding typed events; see the contract."""
        self._check_can_take(message)
        ready = await in_thread(read_files, files) if files else ()
        self._check_can_take(message)  # it may have been closed meanwhile
        request = Request(message, ready)
        self._requests.append(request)
        self._inbox.put_nowait(request)
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
        running = next((each for each in self._requests if not each.ended.is_set()), None)
        if running is None:
            return False
        running.stop(outcomes.INTERRUPTED)
        await running.ended.wait()
        return True

    async def close(self) -> None:
        """Stop what runs, end the process, remove its files; may be called twice."""
        if self._ended_by is None:
            self._ended_by = "it is closed"
            self._inbox.put_nowait(None)
            self._stop_turn(outcomes.INTERRUPTED)
        if self._owner is None:  # it was never opened
            self._on_close(self)
        else:
            if self._starting:
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
        return self._requests[0].paused() if self._requests else nullcontext()

    def _stop_turn(self, reason: str, detail: str | None = None) -> None:
        if self._requests:
            self._requests[0].stop(reason, detail)

    def _context_for_call(self) -> contextvars.Context:
        if not self._requests:
            return contextvars.copy_context()
        return context_for(self._requests[0].context, self._connected_in)

    # ----------------------------------------------------------------------- in the owner task

    async def _own(self, started: asyncio.Future[None]) -> None:
        try:
            await self._start_process()
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
            while (request := await self._inbox.get()) is not None:
                await self._run_request(request)
                if self._ended_by is not None:
                    break
        finally:
            await self._end()

    async def _start_process(self) -> None:
        """Start the first process, or another one in the place of one that is of no use."""
        self._starting = True
        try:
            self._client, self._tools = await self._connect(self._calls.run, self._client)
            await self._client.start()
            self._usable, self._idle, self._spent = True, True, NOTHING
        finally:
            self._starting = False

    async def _run_request(self, request: Request) -> None:
        try:
            turn = await self._run_turn(request)
        except asyncio.CancelledError:
            request.end(outcomes.never_ran(outcomes.INTERRUPTED, "the session was closed"))
            raise
        result = turn.result(stopped_by=request.stopped_by, detail=request.detail)
        request.end(await self._stored(result))
        await self._settle(turn, request)
        self._spent = turn.after
        self._requests.remove(request)

    async def _run_turn(self, request: Request) -> Turn:
        """Run a turn, on another process where the one there is turns out to have died before."""
        turn = Turn(self._tools, before=self._spent, schema=self._schema)
        while not request.is_stopped:
            was_idle = self._usable
            try:
                if not self._usable:
                    await self._start_process()
                turn = Turn(self._tools, before=self._spent, schema=self._schema)
                await self._ask(turn, request)
                break
            except Exception as cause:  # noqa: BLE001  the SDK raises bare Exception for a dead CLI
                await self._discard_process()
                if request.begun or not was_idle:
                    request.stop(outcomes.CRASHED, self._described(cause))
        return turn

    async def _ask(self, turn: Turn, request: Request) -> None:
        if request.is_stopped:  # while a process was started for it
            return
        client = self._running_client()
        async with request.limited(self._turn_seconds):
            request.sent = True
            await client.send(request.message, request.files)
            async for message in client.receive():
                request.begun |= is_of_turn(message)
                for event in turn.feed(message):
                    request.events.put(event)
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
        self._idle = turn.is_complete or not request.sent or not self._usable
        if self._idle or self._ended_by is not None:
            return
        client = self._running_client()
        self._idle = await client.interrupt(lambda message: list(turn.feed(message)))
        if not self._idle:
            await self._discard_process()

    def _running_client(self) -> Client:
        if self._client is None:
            raise BackendSessionError("Claude Code is not running")
        return self._client

    async def _discard_process(self) -> None:
        """End a process that is of no use any more; the next turn starts another one."""
        self._usable, self._idle = False, True
        if self._client is not None:
            await self._client.stop(at_once=True)

    def _described(self, cause: Exception) -> str:
        text, words = str(cause), self._client.last_words() if self._client else ""
        return text if words in text else f"{text}{words}"

    async def _end(self) -> None:
        self._ended_by = self._ended_by or "it is closed"
        await asyncio.shield(asyncio.ensure_future(self._release()))
        for request in self._requests:
            request.end(outcomes.never_ran(outcomes.INTERRUPTED, self._ended_by))
        self._on_close(self)

    async def _release(self) -> None:
        if self._client is not None:
            await self._client.end(at_once=not self._idle)
        if self._recording is not None:
            await self._recording.close()


def _closed_while_starting() -> BackendSessionError:
    detail = "the session was closed while it started"
    return BackendSessionError(detail, result=outcomes.never_ran(outcomes.INTERRUPTED, detail))
