"""``claude.native_mcp``: MCP servers that Claude Code itself starts and calls.

Their configuration holds secrets, and what the SDK is given of servers is on a command line. So it
goes through a file in the private folder.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holodeck_backend_claude.claude._compat import limits_native_calls
from holodeck_backend_claude.claude.server_names import check_server_names, server_name
from holodeck_backend_claude.contract import BackendInitError

if TYPE_CHECKING:
    from claude_agent_sdk.types import McpServerConfig

    from holodeck_backend_claude.claude.settings import ClaudeSettings
    from holodeck_backend_claude.config import Agent

log = logging.getLogger(__name__)

_FLAG = "mcp-config"
# Claude Code runs servers in its own folder, and has no setting for another one.
_IN_FOLDER = ("-c", 'cd "$1" && shift && exec "$@"', "sh")
_NO_EFFECT = (
    "max_result_chars", "concurrency", "sse_read_timeout", "terminate_on_close", "load_prompts",
)  # fmt: skip


@dataclass(frozen=True)
class NativeServers:
    """The servers of one agent, for Claude Code.

    Attributes:
        configs: Their configurations by name.
        optional: The names of those without which the agent runs.
        seconds: How long they may take to connect.
        grants: What runs without asking: ``mcp__<server>``, or single tools.
        refused: Tools of theirs that are not offered.
    """

    configs: Mapping[str, McpServerConfig] = field(default_factory=dict, repr=False)
    optional: frozenset[str] = frozenset()
    seconds: float = 0.0
    grants: Sequence[str] = ()
    refused: Sequence[str] = ()

    def is_theirs(self, wire_name: str) -> bool:
        """Whether a tool is one of theirs, by the name Claude Code has for it."""
        return any(_is_of(wire_name, server) for server in self.configs)

    def write(self, folder: Path) -> Path | None:
        """Put the configurations into a file that only its owner can read; None without any."""
        if not self.configs:
            return None
        path = folder / "mcp-servers.json"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
            json.dump({"mcpServers": dict(self.configs)}, file)
        return path


def native_servers(agent: Agent, settings: ClaudeSettings) -> NativeServers:
    """The servers that Claude Code is to start; none unless ``claude.native_mcp`` says so.

    Raises:
        BackendInitError: A server says something that Claude Code cannot do.
    """
    tools = [tool for tool in agent.tools if tool.type == "mcp"] if settings.native_mcp else []
    if not tools:
        return NativeServers()
    configs = build_claude_mcp_configs(tools, base_dir=agent.base_dir)
    _report_no_effect(tools)
    allowed = settings.allowed_tools
    offered = {
        name: config
        for name, config in configs.items()
        if allowed is None or any(_is_of(each, name) for each in allowed)
    }
    grants = [f"mcp__{name}" for name in offered] if allowed is None else allowed
    return NativeServers(
        configs={n: _in_folder(c, agent.base_dir.resolve()) for n, c in offered.items()},
        optional=frozenset(server_name(t.name) for t in tools if getattr(t, "optional", False)),
        seconds=max(float(tool.timeout) for tool in tools),
        grants=[each for each in grants if any(_is_of(each, name) for name in offered)],
        refused=[t for t in settings.disallowed_tools if any(_is_of(t, name) for name in offered)],
    )


def opened_here(agent: Agent, settings: ClaudeSettings) -> Agent:
    """The agent without the tools that Claude Code brings."""
    if not settings.native_mcp:
        return agent
    tools = tuple(tool for tool in agent.tools if tool.type != "mcp")
    return agent.model_copy(update={"tools": tools})


def native_variables(servers: NativeServers) -> dict[str, str]:
    """Variables of the Claude Code process about its servers."""
    if not servers.configs:
        return {}
    return {"MCP_TIMEOUT": str(round(servers.seconds * 1_000))}


def native_options(file: Path | None) -> dict[str, Any]:
    """The fields of ``ClaudeAgentOptions`` about the servers in a file.

    The flag stands beside that of the in-process servers; Claude Code reads both.
    """
    return {"extra_args": {_FLAG: str(file)}} if file else {}


def build_claude_mcp_configs(
    mcp_tools: Sequence[Any], *, base_dir: Path | None = None
) -> dict[str, McpServerConfig]:
    """MCP servers of agent.yaml as ``ClaudeAgentOptions.mcp_servers`` takes them, by name.

    What the SDK is given in that option is on the command line of Claude Code, secrets included;
    :class:`ClaudeBackend` goes through a file instead.

    Args:
        mcp_tools: Configs of ``type: mcp``, or objects of the same shape.
        base_dir: Where ``./`` and ``../`` of a stdio server and ``env_file`` start; None means
            the current folder. The server itself runs where Claude Code does.

    Raises:
        BackendInitError: A server says something that Claude Code cannot do, or two of them would
            have one name.
    """
    check_server_names([tool.name for tool in mcp_tools])
    base = (base_dir or Path()).resolve()
    return {server_name(tool.name): _config(tool, base) for tool in mcp_tools}


def _config(tool: Any, base_dir: Path) -> McpServerConfig:
    transport = _plain(getattr(tool, "transport", "stdio"))
    _check_possible(tool, transport)
    config: Any
    if transport == "stdio":
        command, *args = (
            _resolved(str(_plain(word)), base_dir) for word in (tool.command, *(tool.args or ()))
        )
        env = _environment(tool, base_dir)
        config = {"type": "stdio", "command": command, "args": args, "env": env}
    else:
        config = {"type": transport, "url": tool.url, "headers": _headers(tool)}
    config["timeout"] = round(float(getattr(tool, "request_timeout", None) or 60) * 1_000)
    _check_literal(tool, config)
    return config  # type: ignore[no-any-return]


def _in_folder(config: Any, folder: Path) -> McpServerConfig:
    """A stdio server as one that runs in this folder, as it does without Claude Code."""
    if config["type"] != "stdio":
        return config  # type: ignore[no-any-return]
    if "${" in str(folder):
        raise BackendInitError(
            f"the folder {folder} has '${{' in its name, which Claude Code would take for a "
            "variable of its own; move it, or remove 'claude.native_mcp'"
        )
    argv = [*_IN_FOLDER, str(folder), config["command"], *config["args"]]
    moved: Any = {**config, "command": "/bin/sh", "args": argv}
    return moved  # type: ignore[no-any-return]


def _check_possible(tool: Any, transport: str) -> None:
    encoding = getattr(tool, "encoding", None)
    problems = {
        "transport: websocket": transport == "websocket",
        f"encoding: {encoding}": encoding not in (None, "utf-8", "utf8", "UTF-8"),
        "load_tools: false": getattr(tool, "load_tools", True) is False,
        "on_error: fail": getattr(tool, "on_error", "continue") == "fail",
    }
    for problem, holds in problems.items():
        if holds:
            raise BackendInitError(
                f"the MCP server '{tool.name}' has '{problem}', which Claude Code cannot do; "
                "remove it, or 'claude.native_mcp'"
            )


def _check_literal(tool: Any, config: Any) -> None:
    """Claude Code puts its own variables into ``${NAME}``, the model's credential among them."""
    if "${" in json.dumps(config):
        raise BackendInitError(
            f"the MCP server '{tool.name}' has the text '${{' in its settings, which Claude Code "
            "would take for a variable of its own; remove it, or 'claude.native_mcp'"
        )


def _environment(tool: Any, base_dir: Path) -> dict[str, str]:
    from holodeck_backend_claude.tools.mcp.environment import server_environment

    return server_environment(tool, base_dir)


def _headers(tool: Any) -> dict[str, str]:
    from holodeck_backend_claude.tools.mcp.environment import own_headers

    return own_headers(tool)


def _resolved(word: str, base_dir: Path) -> str:
    """A path that starts from agent.yaml, whole: Claude Code runs servers in another folder."""
    return str((base_dir / word).resolve()) if word.startswith(("./", "../")) else word


def _plain(value: Any) -> Any:
    return getattr(value, "value", value)  # an enumeration of another installation


def _is_of(wire_name: str, server: str) -> bool:
    return wire_name == f"mcp__{server}" or wire_name.startswith(f"mcp__{server}__")


def _report_no_effect(tools: Sequence[Any]) -> None:
    keys = _NO_EFFECT if limits_native_calls() else (*_NO_EFFECT, "request_timeout")
    said = sorted(f"{tool.name}.{key}" for tool in tools for key in tool.model_fields_set & {*keys})
    if said:
        log.warning(
            "%s: no effect with claude.native_mcp, as this version of Claude Code has no such "
            "setting",
            ", ".join(said),
        )
