"""Servers of the tests of ``type: mcp``, opened as an agent opens them."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.calls import BoundTool
from holodeck_backend_claude.config import Agent, Instructions, MCPTool, ModelConfig
from holodeck_backend_claude.plugins import load_plugins
from holodeck_backend_claude.tools.open_tools import OpenTools
from tests.e2e.lab import nothing_left

RAW_SERVER = Path(__file__).parents[2] / "support" / "mcp_raw_server.py"


async def no_model(_prompt: str) -> str:
    raise AssertionError("no tool of a server asks the model")


class Bench:
    """Opens servers as tools of an agent; they are closed after the test.

    Attributes:
        folder: That of the agent.
        record: Where a raw server writes what it gets.
    """

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self.folder = folder
        self.record = folder / "record.jsonl"
        self._stack = stack

    def raw(self, said: Mapping[str, Any] | None = None, **keys: Any) -> MCPTool:
        """A server of ``mcp_raw_server.py`` that does what ``said`` says."""
        told = json.dumps({"record": str(self.record), **(said or {})})
        settings = {
            "name": "raw",
            "description": "A raw server.",
            "command": sys.executable,
            "args": ("-I", "-S", str(RAW_SERVER), told),
            "timeout": 10,
            "request_timeout": 10,
            **keys,
        }
        return MCPTool.model_validate(settings)

    async def open(self, *configs: MCPTool) -> OpenTools:
        """The open tools of an agent with these servers."""
        agent = Agent(
            name="a",
            model=ModelConfig(provider="openai", name="m"),
            instructions=Instructions(inline="Be brief."),
            tools=configs,
            base_dir=self.folder,
        )
        registry = load_plugins().registry
        tools = OpenTools(agent, registry, backend="semantic_kernel", ask_model=no_model)
        self._stack.push_async_callback(tools.close)
        await tools.open()
        return tools

    async def tools(self, *configs: MCPTool) -> dict[str, BoundTool]:
        """The same by the names of the tools."""
        return {tool.name: tool for tool in (await self.open(*configs)).tools}

    def got(self, method: str) -> list[dict[str, Any]]:
        """What the raw servers got of one method, in order."""
        if not self.record.exists():
            return []
        messages = [json.loads(line) for line in self.record.read_text().splitlines()]
        return [message for message in messages if message.get("method") == method]


@pytest.fixture
async def bench(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, caplog: pytest.LogCaptureFixture
) -> AsyncIterator[Bench]:
    caplog.set_level(logging.DEBUG, "holodeck_backend_claude.tool")
    async with nothing_left(tmp_path_factory.mktemp("none")), AsyncExitStack() as stack:
        yield Bench(tmp_path, stack)
