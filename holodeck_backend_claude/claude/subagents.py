"""``claude.agents`` as the SDK takes them, with the tools they name found among the agent's own."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from holodeck_backend_claude.claude._compat import knows_whole_servers
from holodeck_backend_claude.claude.settings.agents import STARTS_SUBAGENTS
from holodeck_backend_claude.contract import BackendInitError

if TYPE_CHECKING:
    from claude_agent_sdk import AgentDefinition

    from holodeck_backend_claude.calls import BoundTool
    from holodeck_backend_claude.claude.native_mcp import NativeServers
    from holodeck_backend_claude.claude.settings import SubagentConfig
    from holodeck_backend_claude.config import Agent

AGENT_TOOL = "Agent"
"""The built-in tool of Claude Code that starts a subagent, under its name on the wire."""

# What the model may say of a task. Which model does it, with how much effort, where, and whether
# anybody waits for it, is for agent.yaml to say.
_OF_THE_TASK = frozenset({"description", "prompt", "subagent_type"})

VARIABLES = {
    # none but the agent's own: no general-purpose, Explore, Plan, and no copy of the agent itself
    "CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS": "1",
    "CLAUDE_CODE_FORK_SUBAGENT": "0",
    # the agent waits for them: a turn that ended has nothing running behind it
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
}
"""Variables of every Claude Code process."""


def subagent_definitions(
    agent: Agent,
    subagents: Mapping[str, SubagentConfig],
    *,
    tools: Mapping[str, BoundTool],
    built_ins: Collection[str] = (),
    native: NativeServers | None = None,
) -> dict[str, AgentDefinition]:
    """The subagents of an agent, by name.

    Args:
        agent: Where their prompt files are.
        subagents: What agent.yaml says of them.
        tools: The agent's tools by their full names on the wire.
        built_ins: The built-in tools that the agent is granted.
        native: The servers whose tools only Claude Code knows.

    Raises:
        BackendInitError: A subagent names a tool that the agent does not have, or that this
            version of Claude Code cannot give to a subagent.
    """
    from claude_agent_sdk import AgentDefinition

    known = _wire_names(tools, built_ins)
    return {
        name: AgentDefinition(
            description=subagent.description,
            prompt=subagent.prompt_text(agent.base_dir),
            tools=(
                None if subagent.tools is None else _resolved(name, subagent.tools, known, native)
            ),
            disallowedTools=list(STARTS_SUBAGENTS),
            model=subagent.model,
            maxTurns=subagent.max_turns,
            effort=subagent.effort,
            background=False,
        )
        for name, subagent in subagents.items()
    }


def as_configured(arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a call of :data:`AGENT_TOOL` may say, or None where it says no more than that."""
    kept = {key: value for key, value in arguments.items() if key in _OF_THE_TASK}
    return None if len(kept) == len(arguments) else kept


def subagent_options(definitions: Mapping[str, AgentDefinition]) -> dict[str, Any]:
    """The fields of ``ClaudeAgentOptions`` about subagents; none where there are none."""
    return {"agents": dict(definitions)} if definitions else {}


def _wire_names(tools: Mapping[str, BoundTool], built_ins: Collection[str]) -> dict[str, list[str]]:
    """What agent.yaml may call a tool, and the names on the wire that it stands for."""
    names: dict[str, list[str]] = {name: [name] for name in (*built_ins, *tools)}
    for wire_name, tool in tools.items():
        names.setdefault(tool.name, []).append(wire_name)
    return names


def _resolved(
    subagent: str,
    wanted: Collection[str],
    known: Mapping[str, list[str]],
    native: NativeServers | None,
) -> list[str]:
    found: list[str] = []
    for name in wanted:
        if name not in known and native is not None and native.is_theirs(name):
            _check_whole(subagent, name, native)
            found.append(name)
            continue
        wire_names = known.get(name, [])
        if len(wire_names) > 1:
            raise BackendInitError(
                f"claude.agents.{subagent}.tools: {name!r} may be any of {', '.join(wire_names)}; "
                f"give one of these names"
            )
        if not wire_names:
            raise BackendInitError(_unknown(subagent, name, known, native))
        found += wire_names
    return list(dict.fromkeys(found))


def _check_whole(subagent: str, name: str, native: NativeServers) -> None:
    is_whole = any(name in (f"mcp__{server}", f"mcp__{server}__*") for server in native.configs)
    if is_whole and not knows_whole_servers():
        server = name.removesuffix("__*")
        raise BackendInitError(
            f"claude.agents.{subagent}.tools names {name!r}, all tools of an MCP server, which "
            f"this version of Claude Code gives to no subagent; name each tool ({server}__<tool>), "
            "leave the key away (the subagent then has all tools of the agent), or install "
            "claude-agent-sdk 0.2.189 or newer"
        )


def _unknown(
    subagent: str, name: str, known: Mapping[str, list[str]], native: NativeServers | None
) -> str:
    where = f"claude.agents.{subagent}.tools"
    servers = tuple(native.configs) if native is not None else ()
    for server in servers:
        if name == server or name.startswith(f"{server}_"):
            tool = name[len(server) + 1 :]
            return (
                f"{where} names {name!r}, but with claude.native_mcp Claude Code starts the server "
                f"{server!r} and names its tools itself; write "
                f"'mcp__{server}{f'__{tool}' if tool else ''}'"
            )
    short = sorted(each for each in known if not each.startswith("mcp__"))
    short += [f"mcp__{server}" for server in servers]
    near = difflib.get_close_matches(name, known, n=1)
    meant = f" (did you mean {near[0]!r}?)" if near else ""
    return (
        f"{where} names {name!r}{meant}, which the agent does not have; its tools are: "
        f"{', '.join(short) or 'none'}"
    )
