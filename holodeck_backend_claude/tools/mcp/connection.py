"""One connection to an MCP server, from its start to its end, in a task of its own.

The scopes of anyio in mcp's client belong to the task that entered them; whoever sends a request
does so from any task.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, TypeAlias, TypeVar, cast

from mcp import ClientSession, types
from mcp.shared.exceptions import McpError
from mcp.shared.session import ProgressFnT
from pydantic import ValidationError

from holodeck_backend_claude.concurrency import end_task, wait_out
from holodeck_backend_claude.tools.mcp.answers import Unanswered
from holodeck_backend_claude.tools.mcp.errors import (
    BadAnswerError,
    NotSentError,
    ServerLostError,
    first_problem,
    reason_of,
)
from holodeck_backend_claude.tools.mcp.greeting import greet
from holodeck_backend_claude.tools.mcp.notices import Notices, no_roots
from holodeck_backend_claude.tools.mcp.quiet import connection_log, quieten
from holodeck_backend_claude.tools.mcp.streams import Outgoing, Streams
from holodeck_backend_claude.tools.mcp.watched import Sent, WatchedOutgoing, sending

Result = TypeVar("Result", bound=types.Result)
OnProgress: TypeAlias = Callable[[float, float | None, str], None]

CLOSE_SECONDS = 6.0
"""How long a connection may take to end in order: a stdio server is given time to."""

_CANCEL_SECONDS = 1.0


class Connection:
    """A connection; :meth:`open` it once.

    Args:
        streams: Makes the transport's streams; entered in the new task.
        server: The server's name, for errors.
        log: The logger of the tool.
    """

    def __init__(
        self,
        streams: Callable[[], AbstractAsyncContextManager[Streams]],
        *,
        server: str,
        log: logging.Logger,
    ) -> None:
        self._streams = streams
        self._server = server
        self._log = log
        self._session: ClientSession | None = None
        self._task: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()  # initialized, or over
        self._stop = asyncio.Event()  # to be closed, or over
        self._closing = False
        self._why = "it closed the connection"
        self._over = asyncio.Event()
        self._asking: set[asyncio.Task[Any]] = set()
        self._cancelling: set[asyncio.Task[None]] = set()
        self.capabilities = types.ServerCapabilities()

    @property
    def is_alive(self) -> bool:
        """Whether a request can be sent."""
        return self._session is not None and not self._stop.is_set()

    async def open(self, *, seconds: float) -> None:
        """Connect and initialize.

        Raises:
            ServerLostError: The server did not get so far within ``seconds``.
        """
        self._task = asyncio.create_task(self._run(), name=f"MCP server '{self._server}'")
        try:
            async with asyncio.timeout(seconds):
                await self._ready.wait()
        except TimeoutError:
            await self.close()
            raise self._lost(f"it did not answer 'initialize' within {seconds:g} s") from None
        except BaseException:
            await self.close()
            raise
        if self._session is None:
            await self.close()
            raise self._lost(self._why)

    async def close(self) -> None:
        """End the connection in bounded time; may be called twice."""
        if not self._over.is_set():
            self._closing, self._why = True, "the agent closed the connection"
        self._stop.set()
        if self._task is None:
            return
        if not self._ready.is_set():
            self._task.cancel()
        await wait_out(self._task, seconds=CLOSE_SECONDS)
        await end_task(self._task, label=f"MCP server '{self._server}'")

    async def request(
        self,
        request: Any,
        result: type[Result],
        on_progress: OnProgress | None = None,
    ) -> Result:
        """Send a request and wait for its answer; a cancellation reaches the server.

        Args:
            request: One of the requests of a client in ``mcp.types``.
            result: What the answer has to be.
            on_progress: Told how far the server is.

        Raises:
            NotSentError: The connection was gone before; the server does not know of it.
            ServerLostError: The connection ended before the answer came.
            McpError: The server answered with an error.
            BadAnswerError: The answer is not what it has to be.
        """
        if self._session is None or not self.is_alive:
            raise NotSentError
        sent = Sent()
        asking = asyncio.create_task(
            self._ask(self._session, request, result, on_progress=on_progress, sent=sent)
        )
        self._asking.add(asking)  # the end of the connection cancels it
        asking.add_done_callback(self._asking.discard)
        try:
            return await asking
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if this is None or this.cancelling():
                self._cancel(sent)
                raise
            raise self._lost(self._why) from None

    async def _ask(
        self,
        session: ClientSession,
        request: Any,
        result: type[Result],
        *,
        on_progress: OnProgress | None,
        sent: Sent,
    ) -> Result:
        sending.set(sent)
        try:
            return await session.send_request(
                types.ClientRequest(request), result, progress_callback=_reporting(on_progress)
            )
        except ValidationError as cause:
            raise BadAnswerError(
                f"it answered {request.method} in a form that is not the protocol's: "
                f"{first_problem(cause)}"
            ) from cause
        except McpError as error:
            if isinstance(error.error, Unanswered):
                raise BadAnswerError(error.error.message) from error
            if error.error.code != types.CONNECTION_CLOSED:
                raise
            self._stop.set()
            await self._over.wait()  # so that the reason is known; it ends in bounded time
            raise self._lost(self._why) from error

    # ------------------------------------------------------------------------ in the own task

    async def _run(self) -> None:
        quieten()
        connection_log.set(self._log)
        try:
            async with self._streams() as (incoming, outgoing):
                watched = WatchedOutgoing(outgoing, self._stop.set)
                notices = Notices(self._server, self._log)
                session = ClientSession(
                    incoming,
                    cast(Outgoing, watched),
                    list_roots_callback=no_roots,
                    logging_callback=notices.take_log,
                    message_handler=notices.take,
                    client_info=types.Implementation(name="holodeck-backend-claude", version="1"),
                )
                async with session:
                    await self._use(session)
        # whatever it is, it is the end of this connection alone
        except BaseException as error:  # noqa: BLE001
            if not isinstance(error, asyncio.CancelledError):
                self._why = reason_of(error)
        finally:
            self._end()

    def _end(self) -> None:
        if self._session is not None and not self._closing:
            self._log.warning("the MCP server '%s' was lost: %s", self._server, self._why)
        for event in (self._stop, self._ready, self._over):
            event.set()
        for task in (*self._asking, *self._cancelling):
            task.cancel()

    async def _use(self, session: ClientSession) -> None:
        capabilities = await greet(session)
        if capabilities is None:
            return
        self.capabilities = capabilities
        self._session = session
        self._ready.set()
        await self._stop.wait()

    # -------------------------------------------------------------------------------- within

    def _cancel(self, sent: Sent) -> None:
        """Tell the server that nobody waits for the answer any longer."""
        if sent.id is None or self._session is None or not self.is_alive:
            return
        told = asyncio.create_task(self._tell_cancelled(self._session, sent.id))
        self._cancelling.add(told)
        told.add_done_callback(self._cancelling.discard)

    async def _tell_cancelled(self, session: ClientSession, request_id: str | int) -> None:
        params = types.CancelledNotificationParams(
            requestId=request_id, reason="the call was given up"
        )
        notification = types.ClientNotification(types.CancelledNotification(params=params))
        with suppress(TimeoutError, NotSentError):
            async with asyncio.timeout(_CANCEL_SECONDS):
                await session.send_notification(notification)

    def _lost(self, why: str) -> ServerLostError:
        return ServerLostError(why, server=self._server)


def _reporting(on_progress: OnProgress | None) -> ProgressFnT | None:
    if on_progress is None:
        return None

    async def report(progress: float, total: float | None, message: str | None) -> None:
        on_progress(progress, total, message or "")

    return report
