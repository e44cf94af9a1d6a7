"""Whether an idle process has something left to do when it is ended, or can be killed at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions

_EXPORTS = "CLAUDE_CODE_ENABLE_TELEMETRY"
_CONFIGURATION = "CLAUDE_CONFIG_DIR"


def can_be_replaced(options: ClaudeAgentOptions) -> bool:
    """Whether another process can go on with the conversation as if it were the same.

    It does not know what the first one started (commands, subagents, MCP servers), nor what the
    conversation has cost.

    Args:
        options: What the first one was started with.
    """
    return not _has_something_to_start(options) and options.max_budget_usd is None


def has_last_work(options: ClaudeAgentOptions, folder: Path) -> bool:
    """Whether the process does something of use between its last turn and its end.

    It exports telemetry, hands the rest of a transcript to the session store or writes it to a
    folder that stays, and ends what it started itself: MCP servers, and what its built-in tools
    left running. Where it does none of that, all it could write is removed with its folder.

    Args:
        options: What it was started with.
        folder: Its private folder.
    """
    configuration = options.env.get(_CONFIGURATION)
    return (
        _EXPORTS in options.env
        or options.session_store is not None
        or configuration is None
        or not Path(configuration).is_relative_to(folder)
        or _has_something_to_start(options)
    )


def _has_something_to_start(options: ClaudeAgentOptions) -> bool:
    """Commands, subagents, or MCP servers: those of this process are of type ``sdk``."""
    servers: Any = options.mcp_servers if isinstance(options.mcp_servers, dict) else {"": {}}
    return (
        any(server.get("type") != "sdk" for server in servers.values())
        or bool(options.extra_args)
        or options.tools != []
    )
