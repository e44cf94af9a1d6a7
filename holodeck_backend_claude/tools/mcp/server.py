"""An MCP server as its tools use it: connected, and connected again after a crash."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp import types

from holodeck_backend_claude.concurrency import end_task
from holodeck_backend_claude.contract import BackendInitError
from holodeck_backend_claude.tools.mcp.connection import Connection, OnProgress, Result
from holodeck_backend_claude.tools.mcp.errors import NotSentError, ServerLostError
from holodeck_backend_claude.tools.mcp.tail import Tail
from holodeck_backend_claude.tools.mcp.transports import streams_to

if TYPE_CHECKING:
    from holodeck_backend_claude.config import MCPTool

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
"""Seconds until a server that could not be reached again is tried once more; doubled each time."""


class McpServer:
    """A server of agent.yaml.

    Args:
        config: How it is reached.
        base_dir: The folder of agent.yaml.
        log: The logger of the tool.
    """

    def __init__(self, config: MCPTool, *, base_dir: Path, log: logging.Logger) -> None:
        self.config = config
        self._base_dir = base_dir
        self._log = log
        self._tail = Tail(log)
        self._connection = self._new_connection()
        self._connecting: asyncio.Task[Connection] | None = None
        self._failures = 0
        self._not_before = 0.0

    @property
    def name(self) -> str:
        """What agent.yaml calls it."""
        return self.config.name

    @property
    def label(self) -> str:
        """What messages call it."""
        registered = self.config.registry_name
        return f"{self.name} ({registered})" if registered else self.name

    @property
    def capabilities(self) -> types.ServerCapabilities:
        """What it said it has."""
        return self._connection.capabilities

    async def open(self) -> None:
        """Connect for the first time.

        Raises:
            ServerLostError: It could not be reached; the text has its last lines of stderr.
        """
        await self._open(self._connection)

    def failed_to_start(self, why: str) -> BackendInitError:
        """The error of a server that did not get as far as it has to at the start."""
        return BackendInitError(f"{self._failed(why)}{self._tail.text}")

    async def close(self) -> None:
        """End the connection; may be called twice."""
        if self._connecting is not None:
            await end_task(self._connecting, label=f"MCP server '{self.name}'")
        await self._connection.close()

    async def request(
        self, request: Any, result: type[Result], on_progress: OnProgress | None = None
    ) -> Result:
        """Send a request; see :meth:`Connection.request`.

        It is sent once. Where the connection was gone before it could leave, the server is
        connected again first.

        Raises:
            ServerLostError: The server is gone, or went before it answered.
            McpError: It answered with an error.
            BadAnswerError: It answered in another form than the protocol's.
        """
        try:
            return await self._sent(request, result, on_progress)
        except NotSentError:
            pass  # the server was not asked yet
        try:
            return await self._sent(request, result, on_progress)
        except NotSentError:
            raise self._failed("it closes each connection") from None

    async def _sent(
        self, request: Any, result: type[Result], on_progress: OnProgress | None
    ) -> Result:
        connection = await self._alive()
        try:
            answer = await connection.request(request, result, on_progress)
        except ServerLostError as lost:
            raise self._failed(str(lost)) from lost
        self._failures = 0
        return answer

    # ---------------------------------------------------------------------------- reconnecting

    async def _alive(self) -> Connection:
        """The connection, a new one where the last has ended; one attempt serves all who wait."""
        if self._connection.is_alive:
            return self._connection
        if self._connecting is None or self._connecting.done():
            wait = self._not_before - time.monotonic()
            if wait > 0:
                raise self._failed(
                    f"it could not be reached again; the next attempt is due in {wait:.1f} s"
                )
            self._connecting = asyncio.create_task(self._reconnect(), name=f"to '{self.name}'")
        await asyncio.wait({self._connecting})  # a call that is cancelled leaves it running
        return self._connecting.result()

    async def _reconnect(self) -> Connection:
        await self._connection.close()
        self._pause()
        connection = self._new_connection()
        await self._open(connection)
        self._connection = connection
        self._log.warning("the MCP server '%s' is connected again", self.name)
        return connection

    def _pause(self) -> None:
        """Put the attempt after this one off, longer from failure to failure."""
        if self._failures:
            pause = min(FIRST_PAUSE * 2 ** (self._failures - 1), LONGEST_PAUSE)
            self._not_before = time.monotonic() + pause
        self._failures += 1

    async def _open(self, connection: Connection) -> None:
        try:
            await connection.open(seconds=self.config.timeout)
        except ServerLostError as lost:
            raise self._failed(f"{lost}{self._tail.text}") from lost

    def _new_connection(self) -> Connection:
        return Connection(
            lambda: streams_to(self.config, base_dir=self._base_dir, tail=self._tail),
            server=self.name,
            log=self._log,
        )

    def _failed(self, why: str) -> ServerLostError:
        return ServerLostError(f"MCP server failed: {self.label}: {why}", server=self.name)
