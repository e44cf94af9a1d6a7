"""A conversation with Claude Code, owned by one task.

The SDK's client belongs to the task that connected it. So each session has a task of its own,
which connects, runs one turn after the other as they are asked for, and disconnects; whoever
calls ``send`` only puts a request into its inbox and reads events from a queue. Leaving a stream
early, cancelling a ``send`` or running out of time stops the turn there, and the owner brings
the process back to a state in which the next turn can begin, or ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from holodeck_backend_claude import outcomes
from holodeck_backend_claude.claude.process.client import Client
from holodeck_backend_claude.claude.turns.turn import Turn
from holodeck_backend_claude.claude.turns.usage import NOTHING
from holodeck_backend_claude.contract import (
    BackendSessionError,
    ToolResult,
    TurnEnd,
    TurnEvent,
)
from holodeck_backend_claude.sessions import StreamedSession, TurnEvents

if TYPE_CHECKING:
    from holodeck_backend_claude.calls import BoundTool
    from holodeck_backend_claude.claude.server import Run

log = logging.getLogger(__name__)


class _Request:
    """One turn somebody asked for: the message, and where its events go."""

    def __init__(self, message: str) -> None:
        self.message = message
        self.events = TurnEvents()
        self.sent = False
        self.stopped_by: str | None = None
        self.detail: str | None = None
        self._limit: asyncio.Timeout | None = None

    @contextlib.asynccontextmanager
    async def limited(self, seconds: float) -> AsyncIterator[None]:
        """The time the turn may take; :meth:`stop` ends it before."""
        limit = asyncio.timeout(seconds)
        try:
            async with limit as self._limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise  # somebody else's time limit
            self.stopped_by = self.stopped_by or outcomes.TIMED_OUT
        finally:
            self._limit = None

    def stop(self, reason: str, detail: str | None = None) -> None:
        """End the turn as soon as possible; the first reason stays."""
        if self.stopped_by is None:
            self.stopped_by, self.detail = reason, detail
        if self._limit is not None and not self._limit.expired():
            self._limit.reschedule(asyncio.get_running_loop().time())


class ClaudeSession(StreamedSession):
    """See :class:`~holodeck_backend_claude.contract.AgentSession`.

    Args:
        connect: Makes the client of this session; called once, with the function that runs calls.
        turn_seconds: How long one turn may take.
        on_close: Called once when the session has ended.
    """

    def __init__(
        self,
        connect: Callable[[Run], tuple[Client, Mapping[str, BoundTool]]],
        *,
        turn_seconds: float,
        on_close: Callable[[ClaudeSession], None] = lambda _session: None,
    ) -> None:
        self._connect = connect
        self._turn_seconds = turn_seconds
        self._on_close = on_close
        self._inbox: asyncio.Queue[_Request | None] = asyncio.Queue()
        self._current: _Request | None = None
        self._calls: set[asyncio.Task[ToolResult]] = set()
        self._owner: asyncio.Task[None] | None = None
        self._ended_by: str | None = None
        self._idle = True  # whether the process is between two turns
        self._spent = NOTHING
        self._client: Client | None = None
        self._started: asyncio.Future[None] | None = None
        self.session_id: str | None = None

    async def open(self) -> None:
        """Start the process.

        Raises:
            BackendSessionError: It did not start.
        """
        self._started = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(self._started), name="holodeck-claude-session")
        try:
            await asyncio.shield(self._started)
        except BaseException:
            await self.close()
            raise

    @property
    def pid(self) -> int | None:
        """The process id of this session's Claude Code, while it runs."""
        return self._client.pid if self._client else None

    # ---------------------------------------------------------------------- for the caller

    async def stream(self, message: str) -> AsyncGenerator[TurnEvent, None]:
        """Run one turn, yielding typed events; see the contract."""
        self._check_can_take(message)
        request = _Request(message)
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

    async def close(self) -> None:
        """Stop what runs, end the process, remove its files; may be called twice."""
        if self._ended_by is None:
            self._ended_by = "it is closed"
            self._inbox.put_nowait(None)
            if self._current is not None:
                self._current.stop(outcomes.INTERRUPTED)
        if self._owner is not None:
            if self._started is not None and not self._started.done():
                if self._client is not None:
                    self._client.kill()
                self._owner.cancel()
            # each step of the owner is bounded; a caller who is cancelled while it waits here
            # does not stop the owner from ending the process
            await asyncio.wait({self._owner})

    # ----------------------------------------------------------------------- in the owner task

    async def _own(self, started: asyncio.Future[None]) -> None:
        self._client, tools = self._connect(self._run_call)
        try:
            await self._client.start()
        except BaseException as cause:
            self._ended_by = str(cause) or "it did not start"
            await self._end(self._client)
            if isinstance(cause, Exception):
                started.set_exception(cause)
                return
            started.set_exception(_closed_while_starting())
            started.exception()  # known, whether or not somebody still waits for the start
            raise
        started.set_result(None)
        try:
            while (request := await self._inbox.get()) is not None:
                await self._run_request(self._client, tools, request)
                if self._ended_by is not None:
                    break
        finally:
            await self._end(self._client)

    async def _run_request(
        self, client: Client, tools: Mapping[str, BoundTool], request: _Request
    ) -> None:
        turn = Turn(tools, before=self._spent)
        self._current = request
        try:
            if request.stopped_by is None:
                async with request.limited(self._turn_seconds):
                    request.sent = True
                    await client.send(request.message)
                    await self._read(client, turn, request)
        except Exception as cause:  # noqa: BLE001  the SDK raises bare Exception for a dead CLI
            request.stopped_by = request.stopped_by or outcomes.CRASHED
            request.detail = request.detail or f"{cause}{client.last_words()}"
            self._ended_by = self._ended_by or outcomes.CRASHED
        finally:
            self._current = None
        result = turn.result(stopped_by=request.stopped_by, detail=request.detail)
        request.events.put(TurnEnd(result))
        await self._settle(client, turn, request)
        self._spent = turn.after

    async def _read(self, client: Client, turn: Turn, request: _Request) -> None:
        async for message in client.receive():
            self.session_id = getattr(message, "session_id", None) or self.session_id
            for event in turn.feed(message):
                request.events.put(event)
            if turn.rejected_credential:  # the process would try ten times, as if it were busy
                request.stop(outcomes.UNAUTHENTICATED, "the API refused the credential")
                return
        if not turn.is_complete:
            raise BackendSessionError("the process ended without a result")

    async def _settle(self, client: Client, turn: Turn, request: _Request) -> None:
        """After a turn that did not end by itself: cancel its calls, free the process or end it."""
        for call in tuple(self._calls):
            call.cancel()
        self._idle = turn.is_complete or not request.sent
        if self._idle or self._ended_by is not None:
            return
        self._idle = await client.interrupt(lambda message: list(turn.feed(message)))
        if not self._idle:
            self._ended_by = f"its last turn ended by '{request.stopped_by}' and did not stop"

    async def _run_call(
        self, tool: BoundTool, arguments: Mapping[str, Any], call_id: str | None
    ) -> ToolResult:
        call = asyncio.create_task(
            tool.call(arguments, call_id=call_id, session_id=self.session_id)
        )
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        try:
            result = await call
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if this is not None and this.cancelling():
                raise  # it was the SDK that gave the call up
            return ToolResult.from_text("the call was cancelled", is_error=True)
        if self._current is not None and tool.ended_by(result):
            self._current.stop(outcomes.tool_failed(tool.name), result.text)
        return result

    async def _end(self, client: Client) -> None:
        self._ended_by = self._ended_by or "it is closed"
        await asyncio.shield(asyncio.ensure_future(client.end(at_once=not self._idle)))
        while not self._inbox.empty():
            request = self._inbox.get_nowait()
            if request is not None:
                ended = outcomes.never_ran(outcomes.INTERRUPTED, self._ended_by)
                request.events.put(TurnEnd(ended))
        self._on_close(self)


def _closed_while_starting() -> BackendSessionError:
    detail = "the session was closed while it started"
    return BackendSessionError(detail, result=outcomes.never_ran(outcomes.INTERRUPTED, detail))
