"""What mcp's session sends, watched: which request got which id, and whether it left."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCRequest

from holodeck_backend_claude.tools.mcp.errors import NotSentError
from holodeck_backend_claude.tools.mcp.streams import Outgoing


@dataclass
class Sent:
    """A request that is being sent.

    Attributes:
        id: Its id, once the session has given it one.
    """

    id: str | int | None = None


sending: ContextVar[Sent | None] = ContextVar("sending", default=None)
"""The request that the running task sends."""


class WatchedOutgoing:
    """Stands in for the stream that a session writes to.

    Args:
        stream: Where everything goes.
        on_end: Called when the session is done with it, which it is as soon as nothing more can
            come in.
    """

    def __init__(self, stream: Outgoing, on_end: Callable[[], None]) -> None:
        self._stream = stream
        self._on_end = on_end

    async def send(self, message: SessionMessage) -> None:
        """Send a message.

        Raises:
            NotSentError: The connection was gone before.
        """
        request, root = sending.get(), message.message.root
        if request is not None and isinstance(root, JSONRPCRequest):
            request.id = root.id
        try:
            await self._stream.send(message)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as cause:
            raise NotSentError from cause

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._on_end()
        await self._stream.aclose()
