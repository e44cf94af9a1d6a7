"""An agent on the real Claude Code process, against a scripted Messages API on loopback."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from holodeck_backend_claude.claude.backend import ClaudeBackend
from holodeck_backend_claude.claude.settings import ClaudeSettings
from holodeck_backend_claude.config import (
    Agent,
    ExecutionConfig,
    Instructions,
    ModelConfig,
    ToolConfig,
)
from holodeck_backend_claude.contract import ToolAnnotations, ToolCall, ToolResult
from holodeck_backend_claude.hookspecs import ToolType
from holodeck_backend_claude.registry import Origin, Provided, Registry
from holodeck_backend_claude.testing import ScriptedMessagesAPI

MODEL = "claude-sonnet-4-5"


Behaviour = Callable[[ToolCall], Any]


class ProbeConfig(ToolConfig):
    """A tool whose behaviour a test supplies."""

    type: str = "probe"
    description: str = "A probe."


class Probe:
    """A tool adapter over a test's function; it records its calls."""

    def __init__(self, name: str, behave: Behaviour, schema: dict[str, Any]):
        self.name = name
        self.description = f"Probe {name}"
        self.input_schema = schema
        self.annotations = ToolAnnotations(read_only=True)
        self.calls: list[ToolCall] = []
        self._behave = behave

    async def call(self, call: ToolCall) -> ToolResult:
        self.calls.append(call)
        result = self._behave(call)
        ready: ToolResult = await result if asyncio.iscoroutine(result) else result
        return ready


def probe_schema(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties or {"query": {"type": "string"}},
        "required": sorted(properties or {"query"}),
    }


class Lab:
    """Builds backends for one scripted API and knows which processes they started."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self.folder = folder
        self._stack = stack

    async def api(self, script: Any) -> ScriptedMessagesAPI:
        return await self._stack.enter_async_context(ScriptedMessagesAPI(script))

    def agent(
        self,
        api: ScriptedMessagesAPI,
        *probes: Probe,
        claude: dict[str, Any] | None = None,
        execution: dict[str, Any] | None = None,
        tool: dict[str, Any] | None = None,
    ) -> Agent:
        return Agent(
            name="probe-agent",
            model=ModelConfig(
                provider="anthropic", name=MODEL, endpoint=api.url, api_key="sk-ant-dummy-key-0001"
            ),
            instructions=Instructions(inline="You are a probe."),
            tools=tuple(ProbeConfig(name=probe.name, **(tool or {})) for probe in probes),
            execution=ExecutionConfig(**{"llm_timeout": 20, "max_retries": 1, **(execution or {})}),
            settings={"claude": ClaudeSettings(**(claude or {}))},
            base_dir=self.folder,
        )

    async def backend(
        self, api: ScriptedMessagesAPI, *probes: Probe, **settings: Any
    ) -> ClaudeBackend:
        by_name = {probe.name: probe for probe in probes}
        probe_type = ToolType(
            type="probe", config=ProbeConfig, adapter=lambda config, _: by_name[config.name]
        )
        origin = Origin("tests", "tests", "0")
        registry = Registry(tool_types={"probe": Provided(probe_type, origin)})
        backend = ClaudeBackend(self.agent(api, *probes, **settings), registry)
        await backend.initialize()
        self._stack.push_async_callback(backend.teardown)
        return backend


@asynccontextmanager
async def nothing_left(folders: Path) -> AsyncIterator[None]:
    """After a test: no process of it, no private folder, no task.

    Args:
        folders: Where private folders are made.
    """
    yield
    left = children()
    assert left == [], left
    assert list(folders.iterdir()) == []
    tasks = {t for t in asyncio.all_tasks() if t is not asyncio.current_task()}
    assert [t for t in tasks if "holodeck" in (t.get_name() or "")] == []


def children() -> list[str]:
    """The command lines of this process's descendants that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == os.getpid() and fields[0] != "Z":
                found.append((stat.parent / "cmdline").read_text().replace("\0", " "))
        except (OSError, IndexError):
            continue
    return found
