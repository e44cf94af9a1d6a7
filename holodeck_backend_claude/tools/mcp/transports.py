"""How a server is reached: the streams of each transport."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from holodeck_backend_claude.config.mcp import DEFAULT_SSE_READ_SECONDS
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
            return _sse_streams(config)
        case "http":
            return _http_streams(config)


def _sse_streams(config: MCPTool) -> AbstractAsyncContextManager[Streams]:
    from mcp.client.sse import sse_client

    return sse_client(
        config.url or "",
        headers=own_headers(config),
        timeout=config.timeout,
        sse_read_timeout=_read_seconds(config),
        httpx_client_factory=_client,
    )


@asynccontextmanager
async def _http_streams(config: MCPTool) -> AsyncIterator[Streams]:
    from mcp.client.streamable_http import streamable_http_client

    limits = httpx.Timeout(config.timeout, read=_read_seconds(config))
    async with (
        _client(headers=own_headers(config), timeout=limits) as client,
        streamable_http_client(
            config.url or "",
            http_client=client,
            terminate_on_close=config.terminate_on_close is not False,
        ) as (incoming, outgoing, _session_id),
    ):
        yield incoming, outgoing


def _client(
    headers: dict[str, str] | None = None,
    timeout: httpx.Timeout | None = None,
    auth: httpx.Auth | None = None,
) -> httpx.AsyncClient:
    """A client that follows no redirect by itself: headers would go along to a stranger."""
    settings: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
    return httpx.AsyncClient(headers=headers, auth=auth, follow_redirects=False, **settings)


def _read_seconds(config: MCPTool) -> float:
    return config.sse_read_timeout or DEFAULT_SSE_READ_SECONDS
