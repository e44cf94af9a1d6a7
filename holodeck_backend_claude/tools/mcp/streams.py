"""The two streams between a transport and mcp's session, and what is known of their end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCMessage

Incoming: TypeAlias = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing: TypeAlias = MemoryObjectSendStream[SessionMessage]
Streams: TypeAlias = tuple[Incoming, Outgoing]

LONGEST_MESSAGE = 64 * 1024 * 1024
"""Characters (or bytes, over WebSocket) of one message at most."""


@dataclass
class Ends:
    """The transport's ends of the streams.

    Attributes:
        received: What the server said goes in here.
        to_send: What is to be sent comes out here.
    """

    received: MemoryObjectSendStream[SessionMessage | Exception]
    to_send: MemoryObjectReceiveStream[SessionMessage]

    async def deliver(self, text: str) -> bool:
        """Hand a message of the server on; False if it is none."""
        try:
            message = JSONRPCMessage.model_validate_json(text)
        except ValueError:
            return False
        await self.received.send(SessionMessage(message))
        return True


def as_json(message: SessionMessage) -> str:
    """The message as it goes over the wire, on one line."""
    return message.message.model_dump_json(by_alias=True, exclude_none=True)


@asynccontextmanager
async def pumped(
    read: Callable[[Ends], Awaitable[None]], write: Callable[[Ends], Awaitable[None]]
) -> AsyncIterator[Streams]:
    """The session's streams, for as long as the block lasts; both pumps run meanwhile.

    The session learns from the end of either pump that the connection is over.

    Args:
        read: Delivers what the server says, until it says no more.
        write: Sends what is to be sent.
    """
    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    ends = Ends(received, to_send)

    async def until_it_ends(pump: Callable[[Ends], Awaitable[None]]) -> None:
        try:
            await pump(ends)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            pass  # the other side has gone
        finally:
            received.close()
            to_send.close()

    try:
        async with anyio.create_task_group() as pumps:
            pumps.start_soon(until_it_ends, read)
            pumps.start_soon(until_it_ends, write)
            try:
                yield incoming, outgoing
            finally:
                pumps.cancel_scope.cancel()
    finally:
        for stream in (received, incoming, outgoing, to_send):
            stream.close()
