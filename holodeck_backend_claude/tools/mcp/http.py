"""The transport ``http``: one POST per message, and a stream of what the server says unasked.

mcp's own client keeps whatever a server sends, and lets a request wait whose answer it could not
read, or which ended without one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import httpx
from mcp.types import JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, RequestId

from holodeck_backend_claude.tools.mcp.answers import answered_by, read_message
from holodeck_backend_claude.tools.mcp.errors import BadAnswerError, ServerLostError
from holodeck_backend_claude.tools.mcp.events import events_in
from holodeck_backend_claude.tools.mcp.streams import (
    Ends,
    Streams,
    as_json,
    given_up_by,
    misread,
    pumped,
)
from holodeck_backend_claude.tools.mcp.tail import Tail
from holodeck_backend_claude.tools.mcp.web import EVENTS, JSON, Web, text_of, web

if TYPE_CHECKING:
    from holodeck_backend_claude.config import MCPTool

SHORTEST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
"""Seconds between two streams of one server, whatever it asks for; doubled where one was empty."""

_MOST_FAILURES = 2
_FAREWELL_SECONDS = 2.0


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
        conversation = _Conversation(config, there, tail)
        try:
            async with pumped(conversation.read, conversation.write) as streams:
                yield streams
        finally:
            await conversation.farewell()


@dataclass
class _Position:
    """Where a stream that broke off goes on, if the server can do that, and when."""

    id: str | None = None
    pause: float = SHORTEST_PAUSE


class _Conversation:
    """What is known of one session with the server."""

    def __init__(self, config: MCPTool, there: Web, tail: Tail) -> None:
        self._url = config.url or ""
        self._name = config.name
        self._says_farewell = config.terminate_on_close is not False
        self._there = there
        self._tail = tail
        self._session: str | None = None
        self._version: str | None = None
        self._greeted = anyio.Event()
        self._asking: dict[RequestId, anyio.CancelScope] = {}

    async def read(self, ends: Ends) -> None:
        """Deliver what the server says unasked, where it does that at all."""
        await self._greeted.wait()
        if self._session is not None:
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
                self._check(await self._there.tell(self._url, text, headers=self._headers()))
                self._greeted.set()  # the first of them says that the session begins
                if (given_up := given_up_by(root)) in self._asking:
                    self._asking[given_up].cancel()
            asking.cancel_scope.cancel()

    async def farewell(self) -> None:
        """Tell the server that the session is over."""
        if self._session is None or not self._says_farewell:
            return
        with suppress(httpx.HTTPError, BadAnswerError), anyio.move_on_after(_FAREWELL_SECONDS):
            async with self._there.answer("DELETE", self._url, headers=self._headers()):
                pass

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
        position = _Position()
        async with self._there.answer(
            "POST", self._url, headers=self._headers(), body=text
        ) as response:
            self._check(response)
            if request.method == "initialize":
                self._session = response.headers.get("mcp-session-id")
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

    async def _resume(self, ends: Ends, request: JSONRPCRequest, position: _Position) -> None:
        """Go on with the stream of a request for as long as the server can go on with it."""
        failures = 0
        while request.id in ends.waiting and failures < _MOST_FAILURES:
            await anyio.sleep(position.pause)
            try:
                async with self._stream(position) as response:
                    failures = 0
                    await self._take_events(ends, request, response, position)
            except httpx.HTTPStatusError:
                return
            except httpx.HTTPError:
                failures += 1

    async def _take_events(
        self, ends: Ends, request: JSONRPCRequest, response: httpx.Response, position: _Position
    ) -> str:
        async for event in events_in(response.aiter_raw()):
            _note(position, event.id, event.retry)
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
            self._version = _version_in(message)
        await ends.hand_on(message)
        return f"it answered {request.method} with what is not the answer to that"

    # ------------------------------------------------------------------ what it says unasked

    async def _listen(self, ends: Ends) -> None:
        position, failures, pause = _Position(), 0, SHORTEST_PAUSE
        while failures < _MOST_FAILURES:
            said = False
            try:
                async with self._stream(position) as response:
                    failures = 0
                    async for event in events_in(response.aiter_raw()):
                        _note(position, event.id, event.retry)
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

    @asynccontextmanager
    async def _stream(self, position: _Position) -> AsyncIterator[httpx.Response]:
        headers = self._headers(EVENTS)
        if position.id is not None:
            headers["last-event-id"] = position.id
        async with self._there.answer("GET", self._url, headers=headers) as response:
            self._check(response)
            yield response

    # -------------------------------------------------------------------------------- within

    def _check(self, response: httpx.Response) -> None:
        """Raise where the server refuses a request, or knows the session no longer."""
        if response.status_code == httpx.codes.NOT_FOUND and self._session is not None:
            self._session = None
            raise ServerLostError("it does not know the session any more", server=self._name)
        response.raise_for_status()

    def _headers(self, accept: str = f"{JSON}, {EVENTS}") -> dict[str, str]:
        headers: dict[str, str] = {"accept": accept, "content-type": JSON}
        if self._session is not None:
            headers["mcp-session-id"] = self._session
        if self._version is not None:
            headers["mcp-protocol-version"] = self._version
        return headers


def _note(position: _Position, event_id: str | None, retry: int | None) -> None:
    position.id = event_id or position.id
    if retry is not None:
        position.pause = max(retry / 1000, SHORTEST_PAUSE)


def _version_in(message: JSONRPCMessage) -> str | None:
    result = message.root.result if isinstance(message.root, JSONRPCResponse) else {}
    version = result.get("protocolVersion")
    return version if isinstance(version, str) else None


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
