"""The tools of one agent: opened side by side, adapted for a backend, and closed again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from holodeck_backend_claude.calls.bound import BoundTool, bind
from holodeck_backend_claude.calls.names import wire_names
from holodeck_backend_claude.calls.schema import SchemaRefusedError
from holodeck_backend_claude.contract import AskModel, BackendInitError, ToolAdapter
from holodeck_backend_claude.failures import cause_text
from holodeck_backend_claude.import_strings import resolve
from holodeck_backend_claude.tools.instances import Instances, origin, refuse

if TYPE_CHECKING:
    from holodeck_backend_claude.config import Agent, ToolConfig
    from holodeck_backend_claude.registry import Registry

log = logging.getLogger(__name__)

ASK_PROMPT = "Answer as briefly as the request allows."
"""The system prompt of ``ask_model``: the agent's model, asked by a tool."""


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
        self._instances = Instances(agent, registry, ask_model=ask_model)

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
        self.by_wire_name, self.system_prompt = {}, ""
        await self._instances.close()

    async def _open_instances(self) -> list[Any]:
        waits = [
            asyncio.ensure_future(self._instances.open(config)) for config in self._agent.tools
        ]
        try:
            return await asyncio.gather(*waits)
        finally:
            for wait in waits:
                wait.cancel()

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
            refuse(config, f"could not be adapted: {cause_text(error)}", error)

    def _bind_all(self, adapters: list[ToolAdapter], config: ToolConfig) -> list[BoundTool]:
        """All adapters bound; of several, one with a bad schema is left out, not the others."""
        bound: list[BoundTool] = []
        problems: list[SchemaRefusedError] = []
        for adapter in adapters:
            try:
                bound.append(bind(adapter, config, origin=origin(config)))
            except SchemaRefusedError as refused:
                problems.append(refused)
        if problems and not bound:
            raise problems[0]
        for problem in problems:
            log.warning("left out: %s", problem)
        self.left_out += tuple(str(problem) for problem in problems)
        return bound

    def _instruction(self, config: ToolConfig) -> str | None:
        source = self._instances.type_of(config).instructions
        if source is None:
            return None
        try:
            line = resolve(source)(config)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - plugin code may do anything
            refuse(config, f"has no usable instructions: {cause_text(error)}", error)
        if not isinstance(line, str | None):
            refuse(config, f"has instructions that are a {type(line).__name__}, not a text")
        return line


def _instructions_of(agent: Agent) -> str:
    try:
        return agent.system_prompt()
    except (OSError, UnicodeDecodeError) as cause:
        raise BackendInitError(
            f"instructions.file '{agent.instructions.file}' cannot be read: {cause}"
        ) from cause
