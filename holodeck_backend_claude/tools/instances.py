"""The live instances of an agent's tools: opened by owners of their own, and closed again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, NoReturn

from holodeck_backend_claude.calls.bound import origin_of
from holodeck_backend_claude.concurrency.tasks import GRACE_SECONDS, wait_out
from holodeck_backend_claude.contract import AskModel, BackendInitError
from holodeck_backend_claude.failures import cause_text
from holodeck_backend_claude.hookspecs import ToolContext, ToolType
from holodeck_backend_claude.import_strings import resolve
from holodeck_backend_claude.redaction import remember_secrets
from holodeck_backend_claude.tools.context import Contexts, secrets_of
from holodeck_backend_claude.tools.owner import OpenFailedError, ToolOwner

if TYPE_CHECKING:
    from holodeck_backend_claude.config import Agent, ToolConfig
    from holodeck_backend_claude.registry import Registry

log = logging.getLogger(__name__)

CLOSE_SECONDS = 10.0
"""How long the tools may take to close, all together, before they are cancelled."""


class Instances:
    """Opens tools of an agent, and closes what it opened.

    Args:
        agent: Whose tools.
        registry: The tool types, instances that are open already, and whom to tell of progress.
        ask_model: The agent's model without tools, for tools that use it.
        anew: Whether tools make what they keep anew.
    """

    def __init__(
        self, agent: Agent, registry: Registry, *, ask_model: AskModel, anew: bool = False
    ) -> None:
        self._registry = registry
        self._contexts = Contexts(agent, registry, ask_model=ask_model, anew=anew)
        self._owners: list[ToolOwner] = []
        remember_secrets(secrets_of(agent))

    def type_of(self, config: ToolConfig) -> ToolType:
        """The type of a tool.

        Raises:
            BackendInitError: No plugin provides it.
        """
        provided = self._registry.tool_types.get(config.type)
        if provided is None:
            absent = self._registry.why_absent("tool", config.type)
            known = ", ".join(sorted(self._registry.tool_types)) or "none"
            refuse(
                config,
                f"has a type that no loaded plugin provides; known types: {known}. "
                + (f"{absent}" if absent else "Install the plugin that provides it"),
            )
        return provided.value

    async def open(self, config: ToolConfig) -> Any:
        """The live instance of a tool; None where its type opens nothing.

        Raises:
            BackendInitError: It cannot be opened, and why.
        """
        tool_type = self.type_of(config)
        ready = self._registry.given.instances
        if config.name in ready:
            return ready[config.name]
        if tool_type.open is None:
            return None
        try:
            context = self._contexts.of(config)
            owner = ToolOwner(
                lambda: _context_manager(resolve(tool_type.open), config, context),
                label=origin(config),
                log=context.log,
            )
            self._owners.append(owner)
            return await owner.instance()
        except OpenFailedError as failure:
            refuse(config, f"could not be opened: {failure}", failure.__cause__)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - plugin code may do anything
            refuse(config, f"could not be opened: {cause_text(error)}", error)

    async def close(self) -> None:
        """Close what was opened here, in bounded time; may be called twice."""
        owners, self._owners = self._owners, []
        if not owners:
            return
        closing = asyncio.create_task(self._close_all(owners), name="closing the tools")
        await wait_out(closing, seconds=CLOSE_SECONDS + 2 * GRACE_SECONDS)

    async def _close_all(self, owners: Sequence[ToolOwner]) -> None:
        await asyncio.gather(*(owner.close(seconds=CLOSE_SECONDS) for owner in owners))
        try:
            await self._contexts.close()
        except Exception as error:  # noqa: BLE001 - the tools are closed, whatever is left open
            log.warning("the embedding provider did not close: %s", cause_text(error))


def origin(config: ToolConfig) -> str:
    """The tool as errors name it."""
    return origin_of(config) or "a tool without a name"


def refuse(config: ToolConfig, problem: str, cause: BaseException | None = None) -> NoReturn:
    """Raise what is wrong with a tool."""
    raise BackendInitError(f"{origin(config)} {problem}") from cause


def _context_manager(
    opener: Callable[[Any, ToolContext], AbstractAsyncContextManager[Any]],
    config: ToolConfig,
    context: ToolContext,
) -> AbstractAsyncContextManager[Any]:
    manager = opener(config, context)
    if not hasattr(manager, "__aenter__"):
        raise TypeError(
            f"'open' of its type gave a {type(manager).__name__}, not an async context manager; "
            "decorate it with contextlib.asynccontextmanager"
        )
    return manager
