"""What the model gets in every conversation of an agent; checked before the first one begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from holodeck_backend_claude.claude.model_settings import check_model_settings
from holodeck_backend_claude.claude.native_mcp import NativeServers, native_servers
from holodeck_backend_claude.claude.permissions.offered import (
    check_sandbox,
    offered_tools,
    working_directory,
)
from holodeck_backend_claude.claude.process.environment import check_environment
from holodeck_backend_claude.claude.server import build_servers
from holodeck_backend_claude.claude.settings import settings_of
from holodeck_backend_claude.claude.settings.built_ins import granted
from holodeck_backend_claude.claude.subagents import subagent_definitions
from holodeck_backend_claude.failures import keeps_from_starting

if TYPE_CHECKING:
    from claude_agent_sdk import AgentDefinition

    from holodeck_backend_claude.calls import BoundTool
    from holodeck_backend_claude.config import Agent
    from holodeck_backend_claude.contract import JsonSchema


@dataclass(frozen=True)
class Profile:
    """What the model gets.

    Attributes:
        system_prompt: The complete system prompt.
        tools: The tools by their full names on the wire.
        subagents: The subagents the agent can hand a task to, by name.
        response_schema: The form that answers have to have; None leaves them free.
        built_ins: The built-in tools of Claude Code.
        working_directory: Where its files are; None means an empty private folder.
        native: The MCP servers that Claude Code starts itself.
    """

    system_prompt: str
    tools: Mapping[str, BoundTool] = field(default_factory=dict)
    subagents: Mapping[str, AgentDefinition] = field(default_factory=dict)
    response_schema: JsonSchema | None = None
    built_ins: Sequence[str] = ()
    working_directory: Path | None = None
    native: NativeServers = field(default_factory=NativeServers)


def checked_profile(agent: Agent) -> Profile:
    """What agent.yaml alone says of it, before any tool is open.

    Raises:
        BackendInitError: A setting cannot have its effect.
    """
    settings = settings_of(agent)
    check_environment(agent, agent.environment())
    check_model_settings(agent, settings)
    check_sandbox(settings)
    with keeps_from_starting():
        schema = agent.response_schema()
    return Profile(
        "",
        response_schema=schema,
        built_ins=granted(settings),
        working_directory=working_directory(settings, agent.base_dir),
        native=native_servers(agent, settings),
    )


def with_tools(
    profile: Profile, agent: Agent, tools: Mapping[str, BoundTool], *, system_prompt: str
) -> Profile:
    """The profile once the tools are open; a server is built of them, to see that one can be.

    Args:
        profile: What agent.yaml says.
        agent: The agent.
        tools: All its tools, by their full names on the wire.
        system_prompt: Its instructions, and what its tools add to them.

    Raises:
        BackendInitError: A setting names a tool that does not exist, or a tool cannot be offered.
    """
    settings = settings_of(agent)
    offered = offered_tools(settings, tools, is_elsewhere=profile.native.is_theirs)
    build_servers(offered)
    subagents = subagent_definitions(
        agent,
        settings.agents,
        tools=offered,
        built_ins=profile.built_ins,
        native=profile.native,
    )
    return replace(profile, system_prompt=system_prompt, tools=offered, subagents=subagents)
