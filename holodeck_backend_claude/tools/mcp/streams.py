"""The two streams between a transport and mcp's session, and what is known of their end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from holodeck_backend_claude.tools.mcp.answers import (
    answered_by,
    no_answer,
    read_message,
    waiting_as,
    why_unreadable,
)

Incoming: TypeAlias = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing: TypeAlias = MemoryObjectSendStream[SessionMessage]
Streams: TypeAlias = tuple[Incoming, Outgoing]

LONGEST_MESSAGE = 64 * 1024 * 1024
"""Characters (or bytes, over the network) of one message at most."""


@dataclass
class Ends:
    """The transport's ends of the streams.

    Attributes:
        received: What the server said goes in here.
        to_send: What is to be sent comes out here.
        waiting: The requests that wait for an answer, with their methods.
    """

    received: MemoryObjectSendStream[SessionMessage | Exception]
    to_send: MemoryObjectReceiveStream[SessionMessage]
    waiting: dict[RequestId, str] = field(default_factory=dict)

    def note(self, message: SessionMessage) -> None:
        """Note which request waits from now on, or does not any more; for each that is sent."""
        match message.message.root:
            case JSONRPCRequest(id=request_id, method=method):
                self.waiting[request_id] = method
            case root if (given_up := given_up_by(root)) is not None:
                self.waiting.pop(given_up, None)

    async def deliver(self, text: str) -> bool:
        """Hand a message of the server on; False if it is none.

        Where an answer cannot be read, the request that waits for it is told.
        """
        try:
            message = read_message(text)
        except ValueError as cause:
            request_id = answered_by(text, self.waiting)
            if request_id is not None:
                await self.fail(request_id, misread(self.waiting[request_id], text, cause))
            return False
        await self.hand_on(message)
        return True

    async def hand_on(self, message: JSONRPCMessage) -> None:
        """Hand a message on that was read."""
        if isinstance(message.root, JSONRPCResponse | JSONRPCError):
            answered = waiting_as(message.root.id, self.waiting)
            if answered is not None:
                del self.waiting[answered]
        await self.received.send(SessionMessage(message))

    async def fail(self, request_id: RequestId, problem: str) -> None:
        """Tell a request that there will be no answer; nothing happens if it does not wait."""
        if self.waiting.pop(request_id, None) is not None:
            await self.received.send(SessionMessage(no_answer(request_id, problem)))


def as_json(message: SessionMessage) -> str:
    """The message as it goes over the wire, on one line."""
    return message.message.model_dump_json(by_alias=True, exclude_none=True)


def given_up_by(root: object) -> RequestId | None:
    """The request that a message says nobody waits for any longer."""
    match root:
        case JSONRPCNotification(method="notifications/cancelled", params={"requestId": given_up}):
            return given_up if isinstance(given_up, int | str) else None
    return None


def misread(method: str, text: str, cause: ValueError) -> str:
    """What to tell a request whose answer cannot be read."""
    why = why_unreadable(text, cause)
    return f"it answered {method} in a form that is not the protocol's: {why}"


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
