"""docs/how-to/mcp-servers.md and its example: each snippet is valid, and the example answers."""

from __future__ import annotations

import os
import re
import shutil
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from holodeck_backend_claude.config import MCPTool, load_agent
from holodeck_backend_claude.plugins import load_plugins
from holodeck_backend_claude.sk.backend import SKBackend
from holodeck_backend_claude.testing import call_tool, forever, say
from tests.sk.lab import Lab

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "how-to/mcp-servers.md").read_text(encoding="utf-8")
EXAMPLE = DOCS / "examples" / "stock"


def test_each_server_of_the_page_is_valid() -> None:
    blocks: list[Any] = [
        yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
    ]
    tools = [tool for block in blocks if "tools" in block for tool in block["tools"]]
    assert [MCPTool.model_validate(tool).name for tool in tools] == ["stock", "files", "tracker"]


async def test_the_example_answers_from_its_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{python}{os.pathsep}{os.environ['PATH']}")
    folder = tmp_path / "stock"
    shutil.copytree(EXAMPLE, folder)
    registry = load_plugins().registry
    async with AsyncExitStack() as stack:
        lab = Lab(folder, stack)
        script = [call_tool("stock_count", {"article": article}) for article in ("lamp", "sofa")]
        api = await lab.api([*script, forever(say("12 lamps"))])
        written = load_agent(folder / "agent.yaml", registry)
        backend = SKBackend(lab.agent(api, tools=written.tools), registry)
        stack.push_async_callback(backend.teardown)
        await backend.initialize()
        result = await backend.invoke_once("How many lamps?")
        lamp, sofa = result.tool_results
        assert lamp["result"] == "12"
        assert sofa["is_error"]
        assert "there is no article 'sofa'" in sofa["result"]
