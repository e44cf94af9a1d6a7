"""A session over streamable HTTP: what its requests carry, and streams that go on elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import httpx
from mcp.types import JSONRPCMessage, JSONRPCResponse

from holodeck_backend_claude.tools.mcp.errors import BadAnswerError, ServerLostError
from holodeck_backend_claude.tools.mcp.events import Event, events_in
from holodeck_backend_claude.tools.mcp.web import EVENTS, JSON, Web

if TYPE_CHECKING:
    from holodeck_backend_claude.config import MCPTool

SHORTEST_PAUSE = 1.0
"""Seconds between two streams of one server at least, whatever it asks for."""

_FAREWELL_SECONDS = 2.0


@dataclass
class Position:
    """Where a stream that broke off goes on, if the server can do that, and when."""

    id: str | None = None
    pause: float = SHORTEST_PAUSE

    async def noting(self, response: httpx.Response) -> AsyncIterator[Event]:
        """The events of an answer, each noted; raises as :func:`events_in` does."""
        async for event in events_in(response.aiter_raw()):
            self.id = event.id or self.id
            if event.retry is not None:
                self.pause = max(event.retry / 1000, SHORTEST_PAUSE)
            yield event


class HttpSession:
    """The session with a server.

    Args:
        config: The server.
        there: What sends the requests.
    """

    def __init__(self, config: MCPTool, there: Web) -> None:
        self._url = config.url or ""
        self._name = config.name
        self._says_farewell = config.terminate_on_close is not False
        self._there = there
        self._id: str | None = None
        self._version: str | None = None

    @property
    def has_id(self) -> bool:
        """Whether the server gave it an id; without one it says nothing unasked."""
        return self._id is not None

    def begin(self, response: httpx.Response) -> None:
        """Take the id that the answer to ``initialize`` has."""
        self._id = response.headers.get("mcp-session-id")

    def agree(self, message: JSONRPCMessage) -> None:
        """Take the version of the protocol that the answer to ``initialize`` has."""
        result = message.root.result if isinstance(message.root, JSONRPCResponse) else {}
        version = result.get("protocolVersion")
        self._version = version if isinstance(version, str) else None

    @asynccontextmanager
    async def post(self, body: str) -> AsyncIterator[httpx.Response]:
        """The answer to a request.

        Raises:
            httpx.HTTPError: There is none, or it refuses the request.
            ServerLostError: The server knows the session no longer.
        """
        async with self._there.answer(
            "POST", self._url, headers=self._headers(), body=body
        ) as response:
            self._check(response)
            yield response

    async def tell(self, body: str) -> None:
        """Send what needs no answer; raises as :meth:`post` does."""
        self._check(await self._there.tell(self._url, body, headers=self._headers()))

    @asynccontextmanager
    async def stream(self, position: Position) -> AsyncIterator[httpx.Response]:
        """What the server says from a position on.

        Raises:
            httpx.HTTPError: It says nothing, as many servers do that only answer.
        """
        headers = {**self._headers(), "accept": EVENTS}
        if position.id is not None:
            headers["last-event-id"] = position.id
        async with self._there.answer("GET", self._url, headers=headers) as response:
            response.raise_for_status()
            yield response

    async def end(self) -> None:
        """Tell the server that the session is over; never takes long."""
        if self._id is None or not self._says_farewell:
            return
        with suppress(httpx.HTTPError, BadAnswerError), anyio.move_on_after(_FAREWELL_SECONDS):
            async with self._there.answer("DELETE", self._url, headers=self._headers()):
                pass

    def _check(self, response: httpx.Response) -> None:
        if response.status_code == httpx.codes.NOT_FOUND and self._id is not None:
            self._id = None
            raise ServerLostError("it does not know the session any more", server=self._name)
        response.raise_for_status()

    def _headers(self) -> dict[str, str]:
        headers = {"accept": f"{JSON}, {EVENTS}", "content-type": JSON}
        if self._id is not None:
            headers["mcp-session-id"] = self._id
        if self._version is not None:
            headers["mcp-protocol-version"] = self._version
        return headers
