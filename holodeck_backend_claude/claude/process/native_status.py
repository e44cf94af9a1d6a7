"""Whether the MCP servers that Claude Code starts itself are connected."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holodeck_backend_claude import outcomes
from holodeck_backend_claude.contract import BackendSessionError
from holodeck_backend_claude.redaction import mask_secrets

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeSDKClient

    from holodeck_backend_claude.claude.native_mcp import NativeServers

log = logging.getLogger(__name__)

_LOOK_EVERY = 0.1


async def check_native_servers(sdk: ClaudeSDKClient, servers: NativeServers) -> None:
    """Wait until each server is connected; one that is optional need not be.

    Claude Code goes on without a server that does not connect, and the model makes up what it
    would have said.

    Raises:
        BackendSessionError: One is not connected; its name and what is known are in the text.
    """
    if not servers.configs:
        return
    statuses = await _settled(sdk, servers)
    for name in servers.configs:
        status = statuses.get(name, {})
        if status.get("status") == "connected":
            continue
        why = mask_secrets(str(status.get("error") or status.get("status") or "it is unknown"))
        if name in servers.optional:
            log.warning("MCP server failed: %s: %s; the agent runs without it", name, why)
            continue
        failure = outcomes.tool_failed(name, server=name)
        raise BackendSessionError(
            f"{failure}: Claude Code could not connect to it: {why}",
            result=outcomes.never_ran(failure, why),
        )


async def _settled(sdk: ClaudeSDKClient, servers: NativeServers) -> Mapping[str, Any]:
    """The statuses by name, once no server is still on its way, or its time is over."""
    loop = asyncio.get_running_loop()
    until = loop.time() + servers.seconds
    while True:
        answer: Any = await sdk.get_mcp_status()
        statuses = {status["name"]: status for status in answer.get("mcpServers", ())}
        on_the_way = [n for n in servers.configs if _status(statuses, n) in (None, "pending")]
        if not on_the_way or loop.time() >= until:
            return statuses
        await asyncio.sleep(_LOOK_EVERY)


def _status(statuses: Mapping[str, Any], name: str) -> str | None:
    status: str | None = statuses.get(name, {}).get("status")
    return status
