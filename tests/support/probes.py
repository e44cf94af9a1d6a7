"""Tools whose behaviour a test supplies, and the registry that knows their type."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

from holodeck_backend_claude.config import ToolConfig
from holodeck_backend_claude.contract import JsonSchema, ToolAnnotations, ToolCall, ToolResult
from holodeck_backend_claude.hookspecs import ToolType
from holodeck_backend_claude.registry import Origin, Provided, Registry

Behaviour: TypeAlias = Callable[[ToolCall], Any]


class ProbeConfig(ToolConfig):
    """``type: probe`` in an agent."""

    type: str = "probe"
    description: str = "A probe."


def probe_schema(**properties: JsonSchema) -> JsonSchema:
    """The schema of a probe: these properties, all required, or a query where none are given."""
    asked = properties or {"query": {"type": "string", "description": "What to look for."}}
    return {
        "type": "object",
        "properties": asked,
        "required": sorted(asked),
        "additionalProperties": False,
    }


def find(call: ToolCall) -> str:
    return f"found {call.arguments.get('query')}"


class Probe:
    """A tool adapter over a test's function, which may be async; it records its calls."""

    def __init__(
        self, name: str = "kb_search", behave: Behaviour = find, schema: JsonSchema | None = None
    ) -> None:
        self.name = name
        self.description = f"Probe {name}"
        self.input_schema = probe_schema() if schema is None else schema
        self.annotations = ToolAnnotations(read_only=True)
        self.calls: list[ToolCall] = []
        self._behave = behave

    async def call(self, call: ToolCall) -> ToolResult:
        self.calls.append(call)
        result = self._behave(call)
        ready: ToolResult = await result if inspect.isawaitable(result) else result
        return ready  # or whatever else the test wants a tool to return


def registry_of(*probes: Probe) -> Registry:
    """A registry with the tool type of these probes."""
    by_name = {probe.name: probe for probe in probes}
    return probe_registry(adapter=lambda config, _instance: by_name[config.name])


def probe_registry(**parts: Any) -> Registry:
    """A registry with the tool type ``probe``, made of these parts."""
    tool_type = ToolType(type="probe", config=ProbeConfig, **parts)
    return Registry(tool_types={"probe": Provided(tool_type, Origin("tests", "tests", "0"))})
