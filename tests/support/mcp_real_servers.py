"""MCP servers that others wrote, one of npm and one of PyPI; `make servers` installs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.config import MCPTool

_ROOT = Path(__file__).parents[2]
_EVERYTHING = _ROOT / "tests/servers/node_modules/.bin/mcp-server-everything"
_TIME = _ROOT / ".venv-mcp-servers/bin/mcp-server-time"


def everything_server(**keys: Any) -> MCPTool:
    """``@modelcontextprotocol/server-everything``, written in TypeScript."""
    return _server(_EVERYTHING, name="everything", description="All there is.", **keys)


def time_server(**keys: Any) -> MCPTool:
    """``mcp-server-time``, written in Python over version 2 of mcp."""
    return _server(_TIME, name="clock", description="What time it is.", **keys)


def _server(program: Path, **keys: Any) -> MCPTool:
    if not program.exists():
        pytest.fail(f"{program.name} is not installed: run 'make servers'")
    return MCPTool.model_validate({"command": str(program), "timeout": 50, **keys})
