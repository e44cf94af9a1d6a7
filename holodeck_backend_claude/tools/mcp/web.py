"""Requests to a server over HTTP: within its origin, and never more than a message is kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import httpx

from holodeck_backend_claude.config.mcp import DEFAULT_SSE_READ_SECONDS
from holodeck_backend_claude.tools.mcp.errors import BadAnswerError, ServerLostError, TooLongError
from holodeck_backend_claude.tools.mcp.streams import LONGEST_MESSAGE

if TYPE_CHECKING:
    from holodeck_backend_claude.config import MCPTool

JSON = "application/json"
EVENTS = "text/event-stream"

_UNUSED_BYTES = 64 * 1024
"""How much of an answer that nobody needs is read, so that its connection can be used again."""


class Web:
    """Sends requests to one server.

    Args:
        config: The server.
        client: What sends them; see :func:`web`.
    """

    def __init__(self, config: MCPTool, client: httpx.AsyncClient) -> None:
        self._client = client
        self._name = config.name
        self._seconds = config.timeout

    @asynccontextmanager
    async def answer(
        self, method: str, url: str, *, headers: Mapping[str, str], body: str | None = None
    ) -> AsyncIterator[httpx.Response]:
        """The answer to a request, whatever its status; its body is still to be read.

        Raises:
            httpx.HTTPError: There is none.
            BadAnswerError: It is compressed, so that nobody knows how long it is.
        """
        request = self._client.build_request(
            method,
            url,
            headers=httpx.Headers(dict(headers), encoding="utf-8"),
            content=None if body is None else body.encode(),
        )
        response = await self._client.send(request, stream=True)
        try:
            if (again := _within_origin(response)) is not None:
                await response.aclose()
                response = await self._client.send(again, stream=True)
            if (packed := response.headers.get("content-encoding", "identity")) != "identity":
                raise BadAnswerError(f"its answers are compressed ({packed:.20}), unasked")
            yield response
        finally:
            await response.aclose()

    async def tell(self, url: str, body: str, *, headers: Mapping[str, str]) -> httpx.Response:
        """Send what needs no answer; what comes back has no body to read.

        Raises:
            httpx.HTTPError: It could not be sent.
            ServerLostError: The server did not take it in time.
        """
        with anyio.move_on_after(self._seconds):
            async with self.answer("POST", url, headers=headers, body=body) as response:
                read = 0
                async for piece in response.aiter_raw():
                    read += len(piece)
                    if read > _UNUSED_BYTES:
                        break
                return response
        raise ServerLostError("it did not take a message in time", server=self._name)


@asynccontextmanager
async def web(config: MCPTool, headers: Mapping[str, str]) -> AsyncIterator[Web]:
    """What sends requests to a server, for as long as the block lasts.

    It follows no redirect to another origin: headers would go along to a stranger.
    """
    limits = httpx.Timeout(config.timeout, read=config.sse_read_timeout or DEFAULT_SSE_READ_SECONDS)
    client = httpx.AsyncClient(headers=dict(headers), follow_redirects=False, timeout=limits)
    client.headers["accept-encoding"] = "identity"
    async with client:
        yield Web(config, client)


async def text_of(response: httpx.Response) -> str:
    """The body of an answer.

    Raises:
        httpx.HTTPError: It breaks off.
        TooLongError: It is longer than a message may be.
    """
    pieces, length = [], 0
    async for piece in response.aiter_raw():
        pieces.append(piece)
        length += len(piece)
        if length > LONGEST_MESSAGE:
            raise TooLongError(LONGEST_MESSAGE)
    return b"".join(pieces).decode("utf-8-sig", "replace")


def _within_origin(response: httpx.Response) -> httpx.Request | None:
    """The same request to another path of the same server, where the answer is a redirect there."""
    sent, wanted = response.request, response.next_request
    if wanted is None or wanted.method != sent.method:
        return None
    if (sent.url.scheme, sent.url.netloc) != (wanted.url.scheme, wanted.url.netloc):
        return None
    return wanted
