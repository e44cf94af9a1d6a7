"""The plugin of the commands' tests: a tool that hangs or blocks as its config says.

It is copied into a folder that counts as installed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from holodeck_backend_claude.config import ToolConfig
from holodeck_backend_claude.contract import ToolAnnotations, ToolCall, ToolResult
from holodeck_backend_claude.hookspecs import ToolContext, ToolType, hookimpl

HOLODECK_API = 1


class FaultConfig(ToolConfig):
    """``type: fault``."""

    type: str = "fault"
    at_start: str = "well"
    in_a_call: str = "well"


async def behave(how: str, marker: Path) -> None:
    """Do so, once a file says that it has begun."""
    if how == "well":
        return
    marker.write_text(how)
    if how == "hang":
        await asyncio.Event().wait()
    if how == "block":
        time.sleep(1_000)
    if how == "stop the loop":
        asyncio.get_running_loop().stop()


class FaultTool:
    """The adapter."""

    description = "A tool."
    input_schema = {  # noqa: RUF012
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
    }
    annotations = ToolAnnotations(read_only=True)

    def __init__(self, config: FaultConfig, marker: Path) -> None:
        self.name = config.name
        self._config = config
        self._marker = marker

    async def call(self, call: ToolCall) -> ToolResult:
        await behave(self._config.in_a_call, self._marker)
        return ToolResult.from_text(f"found {call.arguments['query']}")


@asynccontextmanager
async def opened(config: FaultConfig, context: ToolContext) -> AsyncIterator[Path]:
    marker = context.base_dir / "begun"
    await behave(config.at_start, marker)
    yield marker


@hookimpl
def holodeck_adapt_tool() -> Any:
    return ToolType("fault", config=FaultConfig, adapter=FaultTool, open=opened)
