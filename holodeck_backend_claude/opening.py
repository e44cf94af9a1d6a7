"""open_agent: from an agent file to a running backend, and back to nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holodeck_backend_claude.redaction import traceback_of
from holodeck_backend_claude.selector import BackendSelector, stored_sessions

if TYPE_CHECKING:
    from holodeck_backend_claude.config import Agent, AgentFile, PluginsConfig
    from holodeck_backend_claude.contract import AgentBackend, AskPermission, ShowProgress
    from holodeck_backend_claude.registry import Registry

__all__ = ["open_agent", "read_agent_file", "stored_sessions"]

_log = logging.getLogger(__name__)


@asynccontextmanager
async def open_agent(
    agent: str | Path | Agent,
    *,
    registry: Registry | None = None,
    tools: Mapping[str, Any] | None = None,
    progress: ShowProgress | None = None,
    ask_permission: AskPermission | None = None,
    side_effects: bool = True,
) -> AsyncIterator[AgentBackend]:
    """Open an agent, from its file to a backend that is ready for ``invoke_once``.

    Example:
        ``async with open_agent("agent.yaml") as backend: ...``

    Args:
        agent: An agent file, the folder of an agent.yaml, or a validated Agent.
        registry: What the plugins contributed; None loads the plugins that the agent allows.
        tools: Ready tool instances by tool name, used instead of opening those tools.
        progress: ``progress(label, done, total)`` while tools open, from any thread.
        ask_permission: Asked before a call that somebody has to agree to; None where nobody can
            be asked, and such a call is denied.
        side_effects: False denies every call that changes something outside of the conversation.

    Yields:
        The initialized backend. It is torn down at the end, however the block is left.

    Raises:
        ConfigError: The agent file is missing or wrong.
        PluginError: The backend is missing, blocked or broken.
        BackendInitError: Something the agent needs is missing or broken.
    """
    loaded, registry = _loaded(agent, registry, tools or {})
    if progress is not None:
        registry = registry.with_progress(progress)
    if ask_permission is not None or not side_effects:
        registry = registry.with_permissions(ask_permission, side_effects=side_effects)
    backend = BackendSelector.create(loaded, registry=registry)
    try:
        await backend.initialize()
        yield backend
    except BaseException:
        await _end(backend, quiet=True)
        raise
    await _end(backend)


def read_agent_file(
    path: str | Path,
    load_plugins: Callable[[PluginsConfig], Registry],
    *,
    backend: str | None = None,
) -> tuple[AgentFile, Registry]:
    """Read an agent file with the plugins that it allows.

    Args:
        path: The file, or the folder of an agent.yaml.
        load_plugins: Gives the registry to read it with; told what the file's ``plugins:`` says.
        backend: Runs the agent, whatever the file says.

    Raises:
        ConfigError: The file is missing or wrong.
    """
    from holodeck_backend_claude.config import read_agent, read_plugins_block, read_source

    source = read_source(path)
    registry = load_plugins(read_plugins_block(source))
    return read_agent(source, registry, backend=backend), registry


def _loaded(
    agent: str | Path | Agent, registry: Registry | None, tools: Mapping[str, Any]
) -> tuple[Agent, Registry]:
    from holodeck_backend_claude.config import Agent
    from holodeck_backend_claude.plugins import load_plugins

    def chosen(block: PluginsConfig) -> Registry:
        found = load_plugins(config=block).registry if registry is None else registry
        return found.with_instances(tools) if tools else found

    if isinstance(agent, Agent):
        return agent, chosen(agent.plugins)
    file, loaded = read_agent_file(agent, chosen)
    for notice in file.notices:
        _log.warning("%s", notice)
    return file.agent, loaded


async def _end(backend: AgentBackend, *, quiet: bool = False) -> None:
    """Tear the backend down, also where the task that waits for it is cancelled meanwhile."""
    ending = asyncio.ensure_future(backend.teardown())
    try:
        await asyncio.shield(ending)
    except asyncio.CancelledError:
        await asyncio.wait({ending})
        raise
    except Exception as error:
        if not quiet:
            raise
        _log.warning("the backend did not end cleanly: %s", traceback_of(error))
