"""MCP servers that others wrote, on every backend: the same names, calls and results."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.claude.backend import ClaudeBackend
from holodeck_backend_claude.config import MCPTool
from holodeck_backend_claude.plugins import load_plugins
from holodeck_backend_claude.sk.backend import SKBackend
from holodeck_backend_claude.testing import call_tool, forever, say
from tests.e2e.lab import Lab as ClaudeLab
from tests.sk.lab import Lab as SKLab
from tests.support.mcp_real_servers import everything_server, time_server
from tests.tools.mcp.conftest import RAW_SERVER


@pytest.fixture(params=[ClaudeLab, SKLab], ids=["claude", "semantic-kernel"])
async def lab(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    async with AsyncExitStack() as stack:
        yield request.param(tmp_path, stack)


async def run(lab: Any, script: Any, *servers: MCPTool) -> tuple[Any, Any]:
    """The scripted API, and an initialized backend with these servers."""
    api = await lab.api(script)
    backend: ClaudeBackend | SKBackend = lab.backend_type(
        lab.agent(api, tools=servers, execution={"llm_timeout": 50}), load_plugins().registry
    )
    lab._stack.push_async_callback(backend.teardown)
    await backend.initialize()
    return api, backend


def wire(lab: Any, server: str, tool: str) -> str:
    return f"mcp__{server}__{tool}" if isinstance(lab, ClaudeLab) else f"{server}_{tool}"


def offered(request: Any) -> list[str]:
    tools = request.body["tools"]
    return [tool.get("name") or tool["function"]["name"] for tool in tools]


@pytest.mark.timeout(120)  # two starts of programs that take their time on a busy machine
async def test_servers_of_npm_and_of_pypi_side_by_side(lab: Any) -> None:
    script = [
        call_tool(wire(lab, "everything", "echo"), {"message": "hello"}),
        call_tool(wire(lab, "everything", "get-sum"), {"a": "2", "b": 3}),
        call_tool(wire(lab, "clock", "convert_time"), {
            "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo",
        }),
        call_tool(wire(lab, "clock", "convert_time"), {
            "source_timezone": "Nowhere/Land", "time": "12:00", "target_timezone": "UTC",
        }),
        forever(say("ok")),
    ]  # fmt: skip
    servers = (everything_server(load_prompts=True), time_server())
    api, backend = await run(lab, script, *servers)
    result = await backend.invoke_once("Hi")
    assert not result.is_error, result
    assert [call["name"] for call in result.tool_calls] == [
        "everything_echo", "everything_get-sum", "clock_convert_time", "clock_convert_time",
    ]  # fmt: skip
    echo, total, tokyo, nowhere = result.tool_results
    assert "hello" in echo["result"]
    assert "5" in total["result"]
    assert "21:00" in tokyo["result"]
    assert nowhere["is_error"]
    assert "Nowhere/Land" in nowhere["result"]
    names = offered(api.requests[0])
    assert {
        wire(lab, "clock", "get_current_time"),
        wire(lab, "everything", "prompt_simple-prompt"),
        wire(lab, "everything", "list_resources"),
        wire(lab, "everything", "read_resource"),
    } <= set(names)
    assert "The tools of 'clock': What time it is." in json.dumps(api.requests[0].body)


def raw(record: Path, **keys: Any) -> MCPTool:
    settings = {
        "name": "raw",
        "description": "A raw server.",
        "command": "python3",
        "args": ("-I", "-S", str(RAW_SERVER), json.dumps({"record": str(record)})),
    }
    return MCPTool.model_validate({**settings, **keys})


async def test_a_crash_is_told_to_the_model_and_the_server_comes_back(
    lab: Any, tmp_path: Path
) -> None:
    script = [
        call_tool(wire(lab, "raw", "die"), {}),
        call_tool(wire(lab, "raw", "env"), {}),
        forever(say("ok")),
    ]
    _api, backend = await run(lab, script, raw(tmp_path / "record"))
    result = await backend.invoke_once("Hi")
    died, again = result.tool_results
    assert died["is_error"]
    assert died["result"] == "MCP server failed: raw: its process ended with exit code 3"
    assert not again["is_error"]
    assert "sk-" not in again["result"]  # no credential of the model reaches the server
    assert not result.is_error
    record = [json.loads(line) for line in (tmp_path / "record").read_text().splitlines()]
    calls = [line["params"]["name"] for line in record if line.get("method") == "tools/call"]
    assert calls == ["die", "env"]


async def test_with_on_error_fail_a_crash_ends_the_run_and_names_the_server(
    lab: Any, tmp_path: Path
) -> None:
    script = [call_tool(wire(lab, "raw", "die"), {}), forever(say("ok"))]
    _api, backend = await run(lab, script, raw(tmp_path / "record", on_error="fail"))
    result = await backend.invoke_once("Hi")
    assert result.is_error
    assert result.error_reason == "MCP server failed: raw"
    assert "exit code 3" in (result.error_detail or "")


async def test_with_on_error_fail_a_failed_call_names_the_tool(lab: Any, tmp_path: Path) -> None:
    script = [call_tool(wire(lab, "raw", "fail"), {}), forever(say("ok"))]
    _api, backend = await run(lab, script, raw(tmp_path / "record", on_error="fail"))
    result = await backend.invoke_once("Hi")
    assert result.error_reason == "tool execution failed: raw_fail"
