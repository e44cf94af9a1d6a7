"""BackendSelector: which backend runs this agent, or why none may."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from holodeck_backend_claude.contract import AgentBackend, HoloDeckError, PluginError
from holodeck_backend_claude.failures import error_text
from holodeck_backend_claude.import_strings import resolve
from holodeck_backend_claude.registry import Absent, BackendChoice, Provided, Registry

if TYPE_CHECKING:
    from holodeck_backend_claude.config import Agent
    from holodeck_backend_claude.contract import StoredSessions
    from holodeck_backend_claude.hookspecs import BackendType, OpenSessions


class BackendSelector:
    """Picks the backend of an agent: the one it names, else the one of its model's provider."""

    @staticmethod
    def create(
        agent_config: Agent,
        tools: Mapping[str, Any] | None = None,
        *,
        registry: Registry | None = None,
    ) -> AgentBackend:
        """Make the agent's backend; nothing is opened before its ``initialize()``.

        Args:
            agent_config: The validated agent.
            tools: Ready tool instances by tool name, used instead of opening those tools.
            registry: What the plugins contributed; None loads them by the agent's own
                ``plugins`` block.

        Raises:
            PluginError: The backend is missing, blocked or broken. It is never replaced by
                another one.
        """
        if registry is None:
            from holodeck_backend_claude.plugins import load_plugins

            registry = load_plugins(config=agent_config.plugins).registry
        if tools:
            registry = registry.with_instances(tools)
        return _made(_chosen(agent_config, registry), agent_config, registry)


def stored_sessions(
    agent: Agent, registry: Registry
) -> AbstractAsyncContextManager[StoredSessions] | None:
    """The conversations that an agent has stored, to be opened; None where it stores none.

    Args:
        agent: The validated agent.
        registry: What the plugins contributed.

    Raises:
        PluginError: The backend is missing, blocked or broken.
        BackendSessionError: The store cannot be used.
    """
    provided = _chosen(agent, registry)
    if provided.value.sessions is None:
        return None
    opening: OpenSessions = resolve(provided.value.sessions)
    return opening(agent)


def _chosen(agent: Agent, registry: Registry) -> Provided[BackendType]:
    choice = registry.choose(agent.backend, agent.model.provider)
    if choice.provided is None:
        raise PluginError(_refusal(agent, registry, choice))
    return choice.provided


def _made(provided: Provided[BackendType], agent: Agent, registry: Registry) -> AgentBackend:
    subject = f"the backend {provided.value.name!r} of {provided.origin}"
    try:
        backend = resolve(provided.value.factory)(agent, registry)
    except PluginError as error:
        raise PluginError(f"{subject}: {error}") from error
    except HoloDeckError:
        raise
    except Exception as error:
        raise PluginError(f"{subject} could not be made: {error_text(error)}") from error
    if not isinstance(backend, AgentBackend):
        raise PluginError(
            f"{subject} gave a {type(backend).__name__}, which lacks methods of AgentBackend "
            "(initialize, invoke_once, create_session, teardown)"
        )
    return backend


def _refusal(agent: Agent, registry: Registry, missing: BackendChoice) -> str:
    if missing.kind == "backend":
        wanted = f"the agent {agent.name!r} asks for the backend {missing.name!r}"
    else:
        wanted = f"the agent {agent.name!r} has a model of the provider {missing.name!r}"
    if missing.absent is not None:
        return f"{wanted}, but {missing.absent}. {_way_back(missing.absent)}"
    known = ", ".join(missing.known) or "none"
    lines = [f"{wanted}, but no installed plugin runs it; known: {known}."]
    if registry.unread:
        lines.append("One of the plugins that are left out may:")
        lines += [f"  {absent}" for absent in registry.unread]
    else:
        lines.append(
            "Correct the name, or pip install the distribution that provides it; "
            "'holodeck-claude plugins' lists what is installed."
        )
    return "\n".join(lines)


def _way_back(absent: Absent) -> str:
    if absent.state == "blocked":
        return "Change that list to use it; no other backend takes its place."
    return (
        f"Mend that, or reinstall {absent.origin.distribution}; 'holodeck-claude plugins' shows "
        "whether it loads. No other backend takes its place."
    )
