"""open_agent: from an agent file to a running backend, and back to nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holodeck_backend_claude.selector import BackendSelector

if TYPE_CHECKING:
    from holodeck_backend_claude.config import Agent
    from holodeck_backend_claude.contract import AgentBackend, ShowProgress
    from holodeck_backend_claude.registry import Registry

_log = logging.getLogger(__name__)


@asynccontextmanager
async def open_agent(
    agent: str | Path | Agent,
    *,
    registry: Registry | None = None,
    tools: Mapping[str, Any] | None = None,
    progress: ShowProgress | None = None,
) -> AsyncIterator[AgentBackend]:
    """Open an agent, from its file to a backend that is ready for ``invoke_once``.

    Example:
        ``async with open_agent("agent.yaml") as backend: ...``

    Args:
        agent: An agent file, the folder of an agent.yaml, or a validated Agent.
        registry: What the plugins contributed; None loads the plugins that the agent allows.
        tools: Ready tool instances by tool name, used instead of opening those tools.
        progress: ``progress(label, done, total)`` while tools open, from any thread.

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
    backend = BackendSelector.create(loaded, registry=registry)
    try:
        await backend.initialize()
        yield backend
    except BaseException:
        await _end(backend, quiet=True)
        raise
    await _end(backend)


def _loaded(
    agent: str | Path | Agent, registry: Registry | None, tools: Mapping[str, Any]
) -> tuple[Agent, Registry]:
    from holodeck_backend_claude.config import Agent, load_agent, read_plugins_block
    from holodeck_backend_claude.config.yaml.source import read_source
    from holodeck_backend_claude.plugins import load_plugins

    source = agent if isinstance(agent, Agent) else read_source(agent)
    if registry is None:
        block = source.plugins if isinstance(source, Agent) else read_plugins_block(source)
        registry = load_plugins(config=block).registry
    if tools:
        registry = registry.with_instances(tools)
    return (source if isinstance(source, Agent) else load_agent(source, registry)), registry


async def _end(backend: AgentBackend, *, quiet: bool = False) -> None:
    """Tear the backend down, also where the task that waits for it is cancelled meanwhile."""
    ending = asyncio.ensure_future(backend.teardown())
    try:
        await asyncio.shield(ending)
    except asyncio.CancelledError:
        await asyncio.wait({ending})
        raise
    except Exception:
        if not quiet:
            raise
        _log.warning("the backend did not end cleanly", exc_info=True)
