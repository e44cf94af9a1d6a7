"""The transport ``http``: one POST per message, and a stream of what the server says unasked.

mcp's own client keeps whatever a server sends, and lets a request wait whose answer it could not
read, or which ended without one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import httpx
from mcp.types import JSONRPCRequest, RequestId

from holodeck_backend_claude.tools.mcp.answers import answered_by, read_message
from holodeck_backend_claude.tools.mcp.http_session import SHORTEST_PAUSE, HttpSession, Position
from holodeck_backend_claude.tools.mcp.streams import (
    Ends,
    Streams,
    as_json,
    given_up_by,
    misread,
    pumped,
)
from holodeck_backend_claude.tools.mcp.tail import Tail
from holodeck_backend_claude.tools.mcp.web import EVENTS, JSON, text_of, web

if TYPE_CHECKING:
    from holodeck_backend_claude.config import MCPTool

LONGEST_PAUSE = 30.0
"""Seconds between two streams; the pause is doubled as long as they are empty."""

_MOST_FAILURES = 2


@asynccontextmanager
async def http_streams(
    config: MCPTool, *, headers: Mapping[str, str], tail: Tail
) -> AsyncIterator[Streams]:
    """The streams to a server over streamable HTTP.

    Args:
        config: The server.
        headers: Headers of each request.
        tail: Gets what it says that is no message.

    Raises:
        httpx.HTTPError: It cannot be reached, or refuses a request.
        ServerLostError: It knows the session no longer, or sent what nobody can keep.
    """
    async with web(config, headers) as there:
        session = HttpSession(config, there)
        conversation = _Conversation(session, tail)
        try:
            async with pumped(conversation.read, conversation.write) as streams:
                yield streams
        finally:
            await session.end()


class _Conversation:
    """Sends the messages of a session and takes what comes."""

    def __init__(self, session: HttpSession, tail: Tail) -> None:
        self._session = session
        self._tail = tail
        self._greeted = anyio.Event()
        self._asking: dict[RequestId, anyio.CancelScope] = {}

    async def read(self, ends: Ends) -> None:
        """Deliver what the server says unasked, where it does that at all."""
        await self._greeted.wait()
        if self._session.has_id:
            await self._listen(ends)
        await anyio.sleep_forever()  # it answers requests without such a stream, too

    async def write(self, ends: Ends) -> None:
        """Send each message; each request waits in a task of its own for its answer."""
        async with anyio.create_task_group() as asking:
            async for message in ends.to_send:
                ends.note(message)
                root, text = message.message.root, as_json(message)
                if isinstance(root, JSONRPCRequest):
                    asking.start_soon(self._ask, ends, root, text)
                    continue
                await self._session.tell(text)
                self._greeted.set()  # the first of them says that the session begins
                if (given_up := given_up_by(root)) in self._asking:
                    self._asking[given_up].cancel()
            asking.cancel_scope.cancel()

    # -------------------------------------------------------------------------- one request

    async def _ask(self, ends: Ends, request: JSONRPCRequest, text: str) -> None:
        with anyio.CancelScope() as scope:
            self._asking[request.id] = scope
            try:
                problem = await self._problem(ends, request, text)
                await ends.fail(request.id, problem)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                pass  # the connection is over
            finally:
                del self._asking[request.id]

    async def _problem(self, ends: Ends, request: JSONRPCRequest, text: str) -> str:
        """Ask, and hand on what comes; what was wrong if there was no answer to the request."""
        position = Position()
        async with self._session.post(text) as response:
            if request.method == "initialize":
                self._session.begin(response)
            try:
                kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                if response.status_code == httpx.codes.ACCEPTED or kind not in {JSON, EVENTS}:
                    return _no_answer_at_all(request.method, response, kind)
                if kind == JSON:
                    return await self._take(ends, request, await text_of(response))
                problem = await self._take_events(ends, request, response, position)
            except httpx.HTTPError as cause:
                problem = _broke_off(request.method, cause)
        if position.id is not None and request.id in ends.waiting:
            await self._resume(ends, request, position)
        return problem

    async def _resume(self, ends: Ends, request: JSONRPCRequest, position: Position) -> None:
        """Go on with the stream of a request for as long as the server can go on with it."""
        failures = 0
        while request.id in ends.waiting and failures < _MOST_FAILURES:
            await anyio.sleep(position.pause)
            try:
                async with self._session.stream(position) as response:
                    failures = 0
                    await self._take_events(ends, request, response, position)
            except httpx.HTTPStatusError:
                return
            except httpx.HTTPError:
                failures += 1

    async def _take_events(
        self, ends: Ends, request: JSONRPCRequest, response: httpx.Response, position: Position
    ) -> str:
        async for event in position.noting(response):
            if event.kind != "message" or not event.lines or not event.data:
                continue
            problem = await self._take(ends, request, event.data)
            if request.id not in ends.waiting or answered_by(event.data, {request.id}) is not None:
                return problem
        return f"the stream of its answer to {request.method} ended without one"

    async def _take(self, ends: Ends, request: JSONRPCRequest, text: str) -> str:
        try:
            message = read_message(text)
        except ValueError as cause:
            self._tail.add(f"(not a message) {text}")
            return misread(request.method, text, cause)
        if request.method == "initialize":
            self._session.agree(message)
        await ends.hand_on(message)
        return f"it answered {request.method} with what is not the answer to that"

    # ------------------------------------------------------------------ what it says unasked

    async def _listen(self, ends: Ends) -> None:
        position, failures, pause = Position(), 0, SHORTEST_PAUSE
        while failures < _MOST_FAILURES:
            said = False
            try:
                async with self._session.stream(position) as response:
                    failures = 0
                    async for event in position.noting(response):
                        if event.data:
                            said = True
                            if event.kind == "message" and not await ends.deliver(event.data):
                                self._tail.add(f"(not a message) {event.data}")
            except httpx.ReadTimeout:
                said = True  # it was open for long
            except httpx.HTTPStatusError as refusal:
                if refusal.response.status_code < httpx.codes.INTERNAL_SERVER_ERROR:
                    return  # it has none
                failures += 1
            except httpx.HTTPError:
                failures += 1
            pause = SHORTEST_PAUSE if said else min(2 * pause, LONGEST_PAUSE)
            await anyio.sleep(max(pause, position.pause))


def _no_answer_at_all(method: str, response: httpx.Response, kind: str) -> str:
    if response.status_code == httpx.codes.ACCEPTED or not kind:
        return f"it answered {method} with {response.status_code} and nothing else"
    return (
        f"it answered {method} with {kind[:80]!r} where JSON or an event stream was to come; "
        "check that 'url' is that of the MCP server"
    )


def _broke_off(method: str, cause: httpx.HTTPError) -> str:
    why = "it did not go on in time" if isinstance(cause, httpx.TimeoutException) else str(cause)
    return f"its answer to {method} broke off: {why[:200]}"
