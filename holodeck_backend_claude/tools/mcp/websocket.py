"""The transport ``websocket``: one message per frame, in the subprotocol ``mcp``.

mcp's own client sends no headers, and is to be removed.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.frames import CloseCode
from websockets.typing import Subprotocol

from holodeck_backend_claude.redaction import mask_secrets
from holodeck_backend_claude.tools.mcp.errors import (
    ServerLostError,
    TooLongError,
    refusal,
    unreachable,
)
from holodeck_backend_claude.tools.mcp.streams import (
    LONGEST_MESSAGE,
    Ends,
    Streams,
    as_json,
    pumped,
)
from holodeck_backend_claude.tools.mcp.tail import Tail

if TYPE_CHECKING:
    from holodeck_backend_claude.config import MCPTool

_CLOSE_SECONDS = 2.0

# At DEBUG the library logs the headers of the handshake and every message.
_log = logging.getLogger(__name__)
_log.setLevel(logging.INFO)


class _Straight(connect):
    """Follows no redirect: headers would go along to a stranger."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


@asynccontextmanager
async def websocket_streams(
    config: MCPTool, *, headers: Mapping[str, str], tail: Tail
) -> AsyncIterator[Streams]:
    """The streams to a server behind a WebSocket.

    Args:
        config: The server.
        headers: Headers of the handshake.
        tail: Gets what it says that is no message.

    Raises:
        ServerLostError: It cannot be reached, or it closed the connection.
    """
    socket = await _opened(config, headers)

    async def read(ends: Ends) -> None:
        with suppress(ConnectionClosed):  # why is told at the end
            async for text in socket:
                words = text if isinstance(text, str) else text.decode("utf-8", "replace")
                if not await ends.deliver(words):
                    tail.add(f"(not a message) {words}")

    async def write(ends: Ends) -> None:
        async for message in ends.to_send:
            ends.note(message)
            try:
                await socket.send(as_json(message))
            except ConnectionClosed:
                return

    try:
        async with pumped(read, write) as streams:
            yield streams
    finally:
        code = socket.close_code
        await socket.close()
    ours = None if socket.protocol.close_rcvd_then_sent else socket.protocol.close_sent
    if ours is not None and ours.code == CloseCode.MESSAGE_TOO_BIG:
        raise TooLongError(LONGEST_MESSAGE)
    if code == CloseCode.ABNORMAL_CLOSURE:
        raise ServerLostError("the connection broke off", server=config.name)
    if code is not None:
        raise ServerLostError(f"it closed the connection with code {code}", server=config.name)


async def _opened(config: MCPTool, headers: Mapping[str, str]) -> ClientConnection:
    opening = _Straight(
        config.url or "",
        subprotocols=[Subprotocol("mcp")],
        additional_headers=dict(headers),
        open_timeout=config.timeout,
        close_timeout=_CLOSE_SECONDS,
        max_size=LONGEST_MESSAGE,
        logger=_log,
    )
    try:
        return await opening
    except InvalidStatus as cause:
        said = cause.response
        why = refusal(said.status_code, said.reason_phrase, said.headers.get("Location"))
        raise ServerLostError(mask_secrets(why), server=config.name) from cause
    except (OSError, TimeoutError, WebSocketException) as cause:
        raise ServerLostError(unreachable(cause), server=config.name) from cause
