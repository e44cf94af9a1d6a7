"""How a server is reached: the streams of each transport."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from holodeck_backend_claude.tools.mcp.environment import own_headers, server_environment
from holodeck_backend_claude.tools.mcp.streams import Streams
from holodeck_backend_claude.tools.mcp.tail import Tail

if TYPE_CHECKING:
    from holodeck_backend_claude.config import MCPTool


def streams_to(
    config: MCPTool, *, base_dir: Path, tail: Tail
) -> AbstractAsyncContextManager[Streams]:
    """The streams of a new connection to the server.

    Args:
        config: The server.
        base_dir: Where a stdio server runs, and where the path of its ``env_file`` starts.
        tail: Gets what the server writes beside its messages.

    Raises:
        BackendInitError: Its ``env_file`` cannot be read.
    """
    match config.transport:
        case "stdio":
            from holodeck_backend_claude.tools.mcp.stdio import stdio_streams

            env = server_environment(config, base_dir)
            return stdio_streams(config, env=env, cwd=base_dir, tail=tail)
        case "websocket":
            from holodeck_backend_claude.tools.mcp.websocket import websocket_streams

            return websocket_streams(config, headers=own_headers(config), tail=tail)
        case "sse":
            from holodeck_backend_claude.tools.mcp.sse import sse_streams

            return sse_streams(config, headers=own_headers(config), tail=tail)
        case "http":
            from holodeck_backend_claude.tools.mcp.http import http_streams

            return http_streams(config, headers=own_headers(config), tail=tail)
