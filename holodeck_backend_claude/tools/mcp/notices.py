"""What a server says unasked: noted in the log, and never much of it; and what it asks."""

from __future__ import annotations

import logging
from typing import Any

from mcp import ClientSession, types
from mcp.shared.context import RequestContext

from holodeck_backend_claude.failures import error_text
from holodeck_backend_claude.redaction import mask_secrets


class Notices:
    """The notices of one connection.

    Args:
        server: The server's name.
        log: The logger of the tool.
    """

    def __init__(self, server: str, log: logging.Logger) -> None:
        self._server = server
        self._log = log
        self._told_of_change = False

    async def take(self, message: object) -> None:
        """Take what is no answer; that the tools changed is told once, however often it is said."""
        match message:
            case types.ServerNotification(root=types.ToolListChangedNotification()):
                level = logging.DEBUG if self._told_of_change else logging.INFO
                self._told_of_change = True
                self._log.log(
                    level,
                    "the MCP server '%s' says that its tools changed; the agent goes on with those "
                    "it started with",
                    self._server,
                )
            case Exception():
                self._log.debug("not understood: %s", error_text(message))

    async def take_log(self, params: types.LoggingMessageNotificationParams) -> None:
        """Take a line of the server's own log."""
        self._log.debug("[%s] %s", params.level, mask_secrets(str(params.data)))


async def no_roots(context: RequestContext[ClientSession, Any]) -> types.ListRootsResult:
    """The folders that the server may use."""
    del context  # the answer is the same for each
    return types.ListRootsResult(roots=[])
