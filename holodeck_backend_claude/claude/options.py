"""From a validated agent to ``ClaudeAgentOptions``: the least a model and its process need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from holodeck_backend_claude.claude._compat import literal_prompt_options
from holodeck_backend_claude.claude.model_settings import model_options
from holodeck_backend_claude.claude.native_mcp import native_options
from holodeck_backend_claude.claude.permissions.offered import permission_options
from holodeck_backend_claude.claude.profile import Profile
from holodeck_backend_claude.claude.response_format import output_options
from holodeck_backend_claude.claude.settings import settings_of
from holodeck_backend_claude.claude.subagents import subagent_options
from holodeck_backend_claude.claude.transcripts.beginning import Beginning

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions, HookMatcher
    from claude_agent_sdk.types import (
        HookEvent,
        McpSdkServerConfig,
        McpServerConfig,
        SystemPromptFile,
    )

    from holodeck_backend_claude.config import Agent

# One line of the process's output holds one message; a tool result or an image can be long.
MAX_LINE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Launch:
    """How one process is started.

    Attributes:
        cli_path: The program to start; None leaves the search to the SDK.
        env: Variables for the process, over those of the host.
        system_prompt_file: A file with the system prompt; None passes it as an argument.
        working_directory: Where the process runs.
        stderr: Called with each line the process writes to its standard error.
        beginning: How its conversation begins; None leaves that to the SDK.
        mcp_servers_file: A file with the MCP servers that Claude Code starts itself.
    """

    cli_path: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)  # it holds the credential
    system_prompt_file: Path | None = None
    working_directory: Path | None = None
    stderr: Callable[[str], None] | None = None
    beginning: Beginning | None = None
    mcp_servers_file: Path | None = None


@dataclass(frozen=True)
class Conversation:
    """What one conversation is started with, beside its agent.

    Attributes:
        profile: What the model gets.
        tool_servers: The in-process MCP servers of this conversation, its own, by name.
        allowed_tools: Wire names of the tools that run without asking.
        beginning: Whether it is new or takes up an earlier one.
        hooks: What Claude Code calls before it does something, by the SDK's name of the event.
        variables: Variables of this conversation's process alone.
    """

    profile: Profile
    tool_servers: Mapping[str, McpSdkServerConfig] = field(default_factory=dict)
    allowed_tools: Sequence[str] = ()
    beginning: Beginning = field(default_factory=Beginning)
    hooks: Mapping[HookEvent, list[HookMatcher]] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)


def build_options(  # noqa: PLR0913  # agent and servers are what everybody gives
    agent: Agent,
    tool_server: McpSdkServerConfig | None = None,
    mcp_configs: Mapping[str, McpServerConfig] | None = None,
    *,
    allowed_tools: Sequence[str] = (),
    profile: Profile | None = None,
    hooks: Mapping[HookEvent, list[HookMatcher]] | None = None,
    launch: Launch = Launch(),
) -> ClaudeAgentOptions:
    """Build the options of one client.

    The model gets the agent's own tools and nothing else: no built-in tool, no setting file, no
    memory, no MCP server of the host; what is not granted is denied without asking.

    Args:
        agent: The validated agent.
        tool_server: The in-process server of the agent's tools, under its own name.
        mcp_configs: Further MCP servers by name.
        allowed_tools: Wire names of the tools that run without asking.
        profile: What else the model gets: its subagents, and the form of its answers.
        hooks: What Claude Code calls, by the SDK's name of the event.
        launch: How the process is started.
    """
    from claude_agent_sdk import ClaudeAgentOptions

    settings = settings_of(agent)
    servers: dict[str, McpServerConfig] = dict(mcp_configs or {})
    if tool_server is not None:
        servers[tool_server["name"]] = tool_server
    return ClaudeAgentOptions(
        tools=list(profile.built_ins) if profile else [],
        allowed_tools=list(allowed_tools),
        mcp_servers=servers,
        strict_mcp_config=True,
        hooks=dict(hooks) if hooks else None,
        setting_sources=[],
        permission_mode="dontAsk",
        system_prompt=_system_prompt(agent, launch),
        include_partial_messages=True,
        max_buffer_size=MAX_LINE_BYTES,
        cli_path=launch.cli_path,
        env=dict(launch.env),
        cwd=launch.working_directory,
        stderr=launch.stderr,
        **model_options(agent, settings),
        **permission_options(
            settings,
            profile.working_directory if profile else None,
            refused=profile.native.refused if profile else (),
        ),
        **native_options(launch.mcp_servers_file),
        **subagent_options(profile.subagents if profile else {}),
        **output_options(profile.response_schema if profile else None),
        **(launch.beginning.options() if launch.beginning else {}),
        **literal_prompt_options(),
    )


def _system_prompt(agent: Agent, launch: Launch) -> str | SystemPromptFile:
    if launch.system_prompt_file is None:
        return agent.system_prompt()
    return {"type": "file", "path": str(launch.system_prompt_file)}
