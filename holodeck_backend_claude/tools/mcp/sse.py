"""The transport ``sse``: one stream of all that the server says, and a POST per message to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import httpx

from holodeck_backend_claude.tools.mcp.errors import BadAnswerError
from holodeck_backend_claude.tools.mcp.events import events_in
from holodeck_backend_claude.tools.mcp.streams import Ends, Streams, as_json, pumped
from holodeck_backend_claude.tools.mcp.tail import Tail
from holodeck_backend_claude.tools.mcp.web import EVENTS, JSON, web

if TYPE_CHECKING:
    from holodeck_backend_claude.config import MCPTool


@asynccontextmanager
async def sse_streams(
    config: MCPTool, *, headers: Mapping[str, str], tail: Tail
) -> AsyncIterator[Streams]:
    """The streams to a server of the older form of HTTP.

    Args:
        config: The server.
        headers: Headers of each request.
        tail: Gets what it says that is no message.

    Raises:
        httpx.HTTPError: It cannot be reached, refuses a request, or is silent for too long.
        BadAnswerError: It does not say where messages go.
    """
    url = httpx.URL(config.url or "")
    place: list[str] = []
    placed = anyio.Event()

    async with web(config, headers) as there:

        async def read(ends: Ends) -> None:
            async with there.answer("GET", str(url), headers={"accept": EVENTS}) as response:
                response.raise_for_status()
                kind = response.headers.get("content-type", "")
                if not kind.lower().startswith(EVENTS):
                    raise BadAnswerError(
                        f"it answered with {kind[:80]!r} where an event stream was to come; check "
                        "that 'url' is that of the MCP server"
                    )
                async for event in events_in(response.aiter_raw()):
                    if event.kind == "endpoint":
                        place[:] = [_endpoint(url, event.data)]
                        placed.set()
                    elif (
                        event.kind == "message"
                        and (words := event.data)
                        and not await ends.deliver(words)
                    ):
                        tail.add(f"(not a message) {words}")

        async def write(ends: Ends) -> None:
            await placed.wait()
            async for message in ends.to_send:
                ends.note(message)
                told = await there.tell(place[0], as_json(message), headers={"content-type": JSON})
                told.raise_for_status()

        async with pumped(read, write) as streams:
            yield streams


def _endpoint(url: httpx.URL, said: str) -> str:
    try:
        place = url.join(said)
    except httpx.InvalidURL as cause:
        raise BadAnswerError("the address it says that messages go to is none") from cause
    if (place.scheme, place.netloc) != (url.scheme, url.netloc):
        raise BadAnswerError("it says that messages go to another server than itself")
    return str(place)
