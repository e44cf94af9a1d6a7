"""An agent on Semantic Kernel, against a scripted OpenAI-compatible API on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from holodeck_backend_claude.config import (
    Agent,
    ExecutionConfig,
    Instructions,
    ModelConfig,
    ToolConfig,
)
from holodeck_backend_claude.contract import JsonSchema, ToolAnnotations, ToolCall, ToolResult
from holodeck_backend_claude.hookspecs import ToolType
from holodeck_backend_claude.registry import Origin, Provided, Registry
from holodeck_backend_claude.sk.backend import SKBackend
from holodeck_backend_claude.sk.settings import SKSettings
from holodeck_backend_claude.testing import Script, ScriptedOpenAIAPI

MODEL = "scripted-model"
QUERY_SCHEMA: JsonSchema = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "What to look for."}},
    "required": ["query"],
    "additionalProperties": False,
}


class ProbeConfig(ToolConfig):
    """A tool whose behaviour a test supplies."""

    type: str = "probe"
    description: str = "A probe."


class Probe:
    """A tool adapter over a test's function; it records its calls."""

    def __init__(
        self,
        name: str = "kb_search",
        behave: Callable[[ToolCall], Any] = lambda call: f"found {call.arguments.get('query')}",
        schema: JsonSchema = QUERY_SCHEMA,
    ) -> None:
        self.name = name
        self.description = f"Probe {name}"
        self.input_schema = schema
        self.annotations = ToolAnnotations(read_only=True)
        self.calls: list[ToolCall] = []
        self._behave = behave

    async def call(self, call: ToolCall) -> ToolResult:
        self.calls.append(call)
        result = self._behave(call)
        value = await result if asyncio.iscoroutine(result) else result
        return value if isinstance(value, ToolResult) else ToolResult.from_text(str(value))


class Lab:
    """Builds scripted APIs and backends, and ends them after the test."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self.folder = folder
        self._stack = stack

    async def api(self, script: Script) -> ScriptedOpenAIAPI:
        return await self._stack.enter_async_context(ScriptedOpenAIAPI(script))

    def agent(
        self,
        api: ScriptedOpenAIAPI | None,
        probes: Sequence[Probe] = (),
        *,
        model: dict[str, Any] | None = None,
        execution: dict[str, Any] | None = None,
        tool: dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None,
        **fields: Any,
    ) -> Agent:
        said = {
            "provider": "openai",
            "name": MODEL,
            "api_key": "scripted-no-key",
            "endpoint": api.base_url if api else None,
        }
        given: dict[str, Any] = {
            "name": "probe agent",
            "model": ModelConfig(**{**said, **(model or {})}),
            "instructions": Instructions(inline="You are a probe."),
            "tools": tuple(ProbeConfig(name=probe.name, **(tool or {})) for probe in probes),
            "execution": ExecutionConfig(
                **{"llm_timeout": 20, "max_retries": 0, **(execution or {})}
            ),
            "settings": {"semantic_kernel": SKSettings(**(settings or {}))},
            "base_dir": self.folder,
        }
        return Agent(**{**given, **fields})

    def registry(self, probes: Sequence[Probe] = ()) -> Registry:
        by_name = {probe.name: probe for probe in probes}
        probe_type = ToolType(
            type="probe", config=ProbeConfig, adapter=lambda config, _: by_name[config.name]
        )
        return Registry(tool_types={"probe": Provided(probe_type, Origin("tests", "tests", "0"))})

    async def backend(self, api: ScriptedOpenAIAPI, *probes: Probe, **settings: Any) -> SKBackend:
        backend = SKBackend(self.agent(api, probes, **settings), self.registry(probes))
        self._stack.push_async_callback(backend.teardown)
        await backend.initialize()
        return backend

    async def run(self, script: Script, *probes: Probe, **settings: Any) -> Any:
        """The scripted API and the backend on it."""
        api = await self.api(script)
        return api, await self.backend(api, *probes, **settings)
