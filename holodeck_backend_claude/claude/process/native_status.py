"""Whether the MCP servers that Claude Code starts itself are connected."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holodeck_backend_claude import outcomes
from holodeck_backend_claude.contract import BackendSessionError
from holodeck_backend_claude.redaction import mask_secrets

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeSDKClient

    from holodeck_backend_claude.claude.native_mcp import NativeServers

log = logging.getLogger(__name__)

_LOOK_EVERY = 0.1
# Claude Code keeps a log of each server below its home, an object of JSON on each line.
_CACHES = (".cache", "Library/Caches")
_STDERR = "Server stderr: "
_LOG_SECONDS = 2.0  # it writes them a moment after the status is known
_LAST_LINES = 20
_MAX_BYTES = 1_000_000


async def check_native_servers(sdk: ClaudeSDKClient, servers: NativeServers, *, home: Path) -> None:
    """Wait until each server is connected; one that is optional need not be.

    Claude Code goes on without a server that does not connect, and the model makes up what it
    would have said.

    Args:
        sdk: The client that is connected.
        servers: Which servers.
        home: The home of the process, where Claude Code notes what a server wrote to stderr.

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
        why = str(status.get("error") or status.get("status") or "it is unknown")
        why = mask_secrets(why + await _last_words(home, name))
        if name in servers.optional:
            log.warning("MCP server failed: %s: %s; the agent runs without it", name, why)
            continue
        failure = outcomes.tool_failed(name, server=name)
        raise BackendSessionError(
            f"{failure}: Claude Code could not connect to it: {why}",
            result=outcomes.never_ran(failure, why),
        )


async def _last_words(home: Path, server: str) -> str:
    """The last lines that a server wrote to its stderr, where Claude Code noted them."""
    loop = asyncio.get_running_loop()
    until = loop.time() + _LOG_SECONDS
    logs: list[Path] = []
    while not (lines := _noted(logs)) and loop.time() < until:
        await asyncio.sleep(_LOOK_EVERY)
        folder = f"claude-cli-nodejs/*/mcp-logs-{server}/*.jsonl"
        logs = sorted(path for cache in _CACHES for path in (home / cache).glob(folder))
        if any('"Connection failed' in _text(path) for path in logs):
            until = min(until, loop.time())  # that is the last it notes
    return "\nIts last output:\n  " + "\n  ".join(lines[-_LAST_LINES:]) if lines else ""


def _noted(logs: list[Path]) -> list[str]:
    lines: list[str] = []
    for entry in "".join(map(_text, logs)).splitlines():
        try:
            error = str(json.loads(entry).get("error", ""))
        except (ValueError, AttributeError):
            continue  # the end of a log that is being written
        if error.startswith(_STDERR):
            lines += [line for line in error.removeprefix(_STDERR).splitlines() if line.strip()]
    return lines


def _text(log: Path) -> str:
    try:
        with log.open("rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return ""


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
