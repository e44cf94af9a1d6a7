"""What one session is connected with: its gate, its own servers, and a client for each process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from holodeck_backend_claude.claude.options import Conversation
from holodeck_backend_claude.claude.permissions.decision import Permissions
from holodeck_backend_claude.claude.process.client import Client
from holodeck_backend_claude.claude.process.credentials import find_credentials
from holodeck_backend_claude.claude.server import build_servers
from holodeck_backend_claude.claude.settings import settings_of
from holodeck_backend_claude.claude.telemetry import HEADERS, parent_variables, telemetry_variables
from holodeck_backend_claude.redaction import is_secret_name

if TYPE_CHECKING:
    from holodeck_backend_claude.claude.permissions.gate import Gate
    from holodeck_backend_claude.claude.process.renewed import Tools
    from holodeck_backend_claude.claude.profile import Profile
    from holodeck_backend_claude.claude.server import Run
    from holodeck_backend_claude.claude.transcripts.beginning import Beginning
    from holodeck_backend_claude.config import Agent
    from holodeck_backend_claude.consent import Consent

Connect: TypeAlias = "Callable[[Run, Client | None], Awaitable[tuple[Client, Tools]]]"
"""Makes a client and its tools; given what runs calls, and the client that it replaces."""


def permissions_of(agent: Agent, profile: Profile, consent: Consent) -> Permissions:
    """What the model may do in a conversation of an agent.

    Args:
        agent: Its settings grant, and its credentials are kept from command lines.
        profile: What the model is offered.
        consent: Whom to ask.
    """
    names = find_credentials(agent, agent.environment()).reserved
    sent = telemetry_variables(agent)
    return Permissions(
        settings_of(agent),
        built_ins=tuple(profile.built_ins),
        tools=profile.tools,
        working_directory=profile.working_directory,
        consent=consent,
        hidden=[*filter(is_secret_name, names), *({HEADERS} & {*sent})],
        is_elsewhere=profile.native.is_theirs,
    )


def connector(agent: Agent, profile: Profile, beginning: Beginning, gate: Gate) -> Connect:
    """How a session gets its client, and another one in its place after a crash.

    Args:
        agent: What to run.
        profile: What the model gets.
        beginning: How the conversation begins.
        gate: Decides on the calls of Claude Code's tools.
    """

    async def connect(run: Run, before: Client | None) -> tuple[Client, Tools]:
        folder = before.folder if before else None
        conversation = Conversation(
            profile,
            tool_servers=build_servers(profile.tools, run=run),
            allowed_tools=(*gate.allowed_tools(), *profile.native.grants),
            beginning=await beginning.again(folder.configuration) if folder else beginning,
            hooks=gate.hooks(),
            variables=parent_variables(agent),
        )
        return Client(agent, conversation, folder=folder), profile.tools

    return connect
