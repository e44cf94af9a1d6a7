"""The tools of one agent: opened side by side, adapted for a backend, and closed again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from holodeck_backend_claude.calls.bound import BoundTool, bind, origin_of
from holodeck_backend_claude.calls.names import wire_names
from holodeck_backend_claude.calls.schema import SchemaRefusedError
from holodeck_backend_claude.concurrency.tasks import GRACE_SECONDS, wait_out
from holodeck_backend_claude.contract import AskModel, BackendInitError, ToolAdapter
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

ASK_PROMPT = "Answer as briefly as the request allows."
"""The system prompt of ``ask_model``: the agent's model, asked by a tool."""

CLOSE_SECONDS = 10.0
"""How long the tools may take to close, all together, before they are cancelled."""


Names: TypeAlias = Callable[[Sequence[BoundTool]], Mapping[str, BoundTool]]
"""Gives the tools of an agent their names on the wire."""


def _own_names(tools: Sequence[BoundTool]) -> Mapping[str, BoundTool]:
    return wire_names(tools, "")


class OpenTools:
    """Every tool of an agent, open and bound to the call policy.

    Args:
        agent: Whose tools.
        registry: The tool types, instances that are open already, and whom to tell of progress.
        backend: The name of the backend the adapters are for.
        ask_model: The agent's model without tools, for tools that use it.
        names: Gives the tools their names on the wire; None takes their own, made legal.

    Attributes:
        by_wire_name: The tools by their names on the wire, in the order of agent.yaml; one per
            adapter.
        system_prompt: The agent's instructions and the lines that its tools add to them.
        left_out: What a tool with several adapters could not offer, and why.
    """

    def __init__(
        self,
        agent: Agent,
        registry: Registry,
        *,
        backend: str,
        ask_model: AskModel,
        names: Names | None = None,
    ) -> None:
        self.by_wire_name: Mapping[str, BoundTool] = {}
        self.system_prompt = ""
        self.left_out: tuple[str, ...] = ()
        self._agent = agent
        self._registry = registry
        self._backend = backend
        self._names = names or _own_names
        self._contexts = Contexts(agent, ask_model=ask_model, progress=registry.given.progress)
        self._owners: list[ToolOwner] = []

    @property
    def tools(self) -> tuple[BoundTool, ...]:
        """The tools, in the order of agent.yaml."""
        return tuple(self.by_wire_name.values())

    async def open(self) -> None:
        """Open all tools side by side; if one fails or this is cancelled, none stays open.

        Raises:
            BackendInitError: The agent's instructions cannot be read, a tool could not be opened
                or adapted, or two have one name on the wire; what it was is named.
        """
        remember_secrets(secrets_of(self._agent))
        self.left_out = ()
        instructions = _instructions_of(self._agent)
        try:
            instances = await self._open_instances()
            lines = self._adapt(instances)
            self.system_prompt = "\n\n".join((instructions, *lines))
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close what was opened here, in bounded time; may be called twice."""
        owners, self._owners = self._owners, []
        self.by_wire_name, self.system_prompt = {}, ""
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

    # ------------------------------------------------------------------------------- opening

    async def _open_instances(self) -> list[Any]:
        waits = [asyncio.ensure_future(self._instance(config)) for config in self._agent.tools]
        try:
            return await asyncio.gather(*waits)
        finally:
            for wait in waits:
                wait.cancel()

    async def _instance(self, config: ToolConfig) -> Any:
        tool_type = self._tool_type(config)
        ready = self._registry.given.instances
        if config.name in ready:
            return ready[config.name]
        if tool_type.open is None:
            return None
        try:
            context = self._contexts.of(config)
            owner = ToolOwner(
                lambda: _context_manager(resolve(tool_type.open), config, context),
                label=_origin(config),
                log=context.log,
            )
            self._owners.append(owner)
            return await owner.instance()
        except OpenFailedError as failure:
            _refuse(config, f"could not be opened: {failure}", failure.__cause__)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - plugin code may do anything
            _refuse(config, f"could not be opened: {cause_text(error)}", error)

    def _tool_type(self, config: ToolConfig) -> ToolType:
        provided = self._registry.tool_types.get(config.type)
        if provided is None:
            absent = self._registry.why_absent("tool", config.type)
            known = ", ".join(sorted(self._registry.tool_types)) or "none"
            _refuse(
                config,
                f"has a type that no loaded plugin provides; known types: {known}. "
                + (f"{absent}" if absent else "Install the plugin that provides it"),
            )
        return provided.value

    # ------------------------------------------------------------------------------ adapting

    def _adapt(self, instances: Sequence[Any]) -> list[str]:
        """Bind all tools; returns the lines that their types add to the system prompt."""
        tools: list[BoundTool] = []
        instructions: list[str] = []
        for config, instance in zip(self._agent.tools, instances, strict=True):
            bound = self._bound(config, instance)
            tools.extend(bound)
            line = self._instruction(config)
            if line and bound:
                instructions.append(line)
        self.by_wire_name = self._names(tools)
        return instructions

    def _bound(self, config: ToolConfig, instance: Any) -> list[BoundTool]:
        try:
            made = self._registry.adapter_factory(config.type, self._backend)(config, instance)
            adapters = list(made) if isinstance(made, Sequence) else [made]
            return self._bind_all(adapters, config)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - plugin code may do anything
            _refuse(config, f"could not be adapted: {cause_text(error)}", error)

    def _bind_all(self, adapters: list[ToolAdapter], config: ToolConfig) -> list[BoundTool]:
        """All adapters bound; of several, one with a bad schema is left out, not the others."""
        bound: list[BoundTool] = []
        problems: list[SchemaRefusedError] = []
        for adapter in adapters:
            try:
                bound.append(bind(adapter, config, origin=_origin(config)))
            except SchemaRefusedError as refused:
                problems.append(refused)
        if problems and not bound:
            raise problems[0]
        for problem in problems:
            log.warning("left out: %s", problem)
        self.left_out += tuple(str(problem) for problem in problems)
        return bound

    def _instruction(self, config: ToolConfig) -> str | None:
        source = self._tool_type(config).instructions
        if source is None:
            return None
        try:
            line = resolve(source)(config)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - plugin code may do anything
            _refuse(config, f"has no usable instructions: {cause_text(error)}", error)
        if not isinstance(line, str | None):
            _refuse(config, f"has instructions that are a {type(line).__name__}, not a text")
        return line


def _instructions_of(agent: Agent) -> str:
    try:
        return agent.system_prompt()
    except (OSError, UnicodeDecodeError) as cause:
        raise BackendInitError(
            f"instructions.file '{agent.instructions.file}' cannot be read: {cause}"
        ) from cause


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


def _origin(config: ToolConfig) -> str:
    return origin_of(config) or "a tool without a name"


def _refuse(config: ToolConfig, problem: str, cause: BaseException | None = None) -> NoReturn:
    raise BackendInitError(f"{_origin(config)} {problem}") from cause
