"""What an agent is made of fails: MCP servers, stores, warm processes, decisions."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from holodeck_backend_claude.claude.backend import ClaudeBackend
from holodeck_backend_claude.config import MCPTool
from holodeck_backend_claude.contract import PermissionRequest
from holodeck_backend_claude.plugins import load_plugins
from holodeck_backend_claude.testing import Usage, call_tool, forever, say
from tests.faults.lab import FaultLab, each, ended, refusal
from tests.faults.registry import fault

INIT = "BackendInitError"
RAW_SERVER = Path(__file__).parents[1] / "support" / "mcp_raw_server.py"


def server(lab: FaultLab, **keys: Any) -> MCPTool:
    """A server that ends when its tool ``die`` is called."""
    record = json.dumps({"record": str(lab.folder / "record.jsonl")})
    started = {"command": sys.executable, "args": ("-I", "-S", str(RAW_SERVER), record)}
    return MCPTool.model_validate(
        {"name": "raw", "description": "A server.", "request_timeout": 5, **started, **keys}
    )


async def backend_with(
    lab: FaultLab, *tools: MCPTool, ask: Any = None, **said: Any
) -> ClaudeBackend:
    """A backend with the tools of the built-in plugins."""
    registry = load_plugins().registry
    if ask is not None:
        registry = replace(registry, given=replace(registry.given, ask_permission=ask))
    backend = ClaudeBackend(lab.agent(await lab.api(), tools=tools, **said), registry)
    lab.stack.push_async_callback(backend.teardown)
    await backend.initialize()
    lab.backends.append(backend)
    return backend


@fault("part", "an MCP server dies in a call: the next call reconnects", "answer")
async def test_mcp_server_dies_in_a_call(lab: FaultLab) -> str:
    backend = await backend_with(lab, server(lab))
    echo = call_tool("mcp__raw__echo", {"text": "again"})
    lab.model_says([call_tool("mcp__raw__die", {"code": 9}), echo, say("Done.")])
    result = await backend.invoke_once("go")
    died, again = result.tool_results
    assert died["is_error"]
    assert "MCP server failed: raw: its process ended with exit code 9" in died["result"]
    assert "again" in again["result"]
    return ended(result)


@fault("part", "an MCP server with `on_error: fail` dies in a call", "MCP server failed: raw")
async def test_mcp_server_ends_the_run(lab: FaultLab) -> str:
    backend = await backend_with(lab, server(lab, on_error="fail"))
    lab.model_says([call_tool("mcp__raw__die", {"code": 9}), forever(say("never"))])
    return ended(await backend.invoke_once("go"))


@fault(
    "part",
    "an MCP server does not start",
    {"no such program": INIT, "it ends at once": INIT, "it speaks no MCP": INIT},
)
async def test_mcp_server_does_not_start(lab: FaultLab) -> dict[str, str]:
    ways = {
        "no such program": {"command": "no-such-program-here", "args": ()},
        "it ends at once": {"command": "sh", "args": ("-c", "echo no space >&2; exit 7")},
        "it speaks no MCP": {"command": "sh", "args": ("-c", "echo hello; exec sleep 300")},
    }

    async def try_one(way: str) -> str:
        keys = {**ways[way], "timeout": 1, "request_timeout": 1}
        error = await refusal(backend_with(lab, server(lab, **keys)))
        assert "raw" in str(error)
        return type(error).__name__

    return await each(tuple(ways), try_one)


@fault("part", "an MCP server that is optional does not start", "answer")
async def test_optional_mcp_server_does_not_start(lab: FaultLab) -> str:
    backend = await backend_with(lab, server(lab, command="no-such-program-here", optional=True))
    lab.model_says([say("Done.")])
    assert "no-such-program-here" in lab.caplog.text
    return ended(await backend.invoke_once("go"))


@fault(
    "part",
    "the store of conversations cannot be used",
    {"a file is in the way": INIT, "the database is away": INIT},
)
async def test_store_cannot_be_used(lab: FaultLab) -> dict[str, str]:
    (lab.folder / ".holodeck").write_text("in the way")
    stores = {
        "a file is in the way": {"store": "sqlite"},
        "the database is away": {"store": "postgres", "url": "postgresql://u:pw@127.0.0.1:1/x"},
    }

    async def try_one(way: str) -> str:
        error = await refusal(backend_with(lab, settings={"sessions": stores[way]}))
        assert "pw" not in str(error)
        return type(error).__name__

    return await each(tuple(stores), try_one)


@fault(
    "part",
    "the store vanishes between two turns",
    {
        "it gets everything again": "answer",
        "with a folder in its place a warning": "answer",
    },
)
async def test_store_vanishes(lab: FaultLab) -> dict[str, str]:
    backend = await backend_with(lab, settings={"sessions": {"store": "sqlite"}})
    lab.model_says([forever(say("ok"))])
    session = await backend.create_session()
    await session.send("one")
    file = lab.folder / ".holodeck" / "sessions.db"
    shutil.rmtree(file.parent)
    removed = await session.send("two")
    assert removed.warnings == []
    file.unlink()
    file.mkdir()
    in_the_way = await session.send("three")
    assert "not stored to its end" in str(in_the_way.warnings)
    return {
        "it gets everything again": ended(removed),
        "with a folder in its place a warning": ended(in_the_way),
    }


@fault(
    "part",
    "the budget of a conversation is used up",
    {
        "in the session": "max_budget_usd reached",
        "resumed: it counts anew": "answer",
        "its process died: it counts anew": "answer",
        "in another conversation": "answer",
    },
)
async def test_budget_is_used_up(lab: FaultLab) -> dict[str, str]:
    said = {"sessions": {"store": "sqlite"}, "max_budget_usd": 0.5}
    backend = await backend_with(lab, settings=said)
    lab.model_says([forever(say("ok", usage=Usage(100_000, 10_000)))])  # 0.45 dollars
    session = await backend.create_session()
    await session.send("one")
    spent = ended(await session.run_turn("two"))
    await session.close()
    resumed = await backend.create_session(resume=session.session_id)
    anew = ended(await resumed.run_turn("three"))
    os.kill(resumed.pid or 0, signal.SIGKILL)
    replaced = ended(await resumed.run_turn("four"))
    await resumed.close()
    return {
        "in the session": spent,
        "resumed: it counts anew": anew,
        "its process died: it counts anew": replaced,
        "in another conversation": ended(await backend.invoke_once("five")),
    }


@fault("part", "a process that was connected ahead died before it was needed", "answer")
async def test_warm_process_died(lab: FaultLab) -> str:
    backend = await backend_with(lab, settings={"warm_clients": 1})
    await backend.warm.wait_filled()
    (spare,) = backend.warm._spares
    os.kill(spare.session.pid or 0, signal.SIGKILL)
    while Path(f"/proc/{spare.session.pid}").exists():
        await asyncio.sleep(0.01)
    lab.model_says([forever(say("ok"))])
    return ended(await backend.invoke_once("Hi"))


@fault("part", "asking the user for permission fails: the call is denied", "answer")
async def test_permission_cannot_be_asked(lab: FaultLab) -> str:
    async def ask(_request: PermissionRequest) -> bool:
        raise RuntimeError("no terminal")

    (lab.folder / "notes.txt").write_text("needle")
    said = {"file_system": {"read": True}, "permission_mode": "manual", "working_directory": "."}
    backend = await backend_with(lab, ask=ask, settings=said)
    lab.model_says([call_tool("Read", {"file_path": "notes.txt"}), say("Done.")])
    result = await backend.invoke_once("go")
    assert "no terminal" in result.permission_denials[0]["reason"]
    assert "needle" not in str(result.tool_results)
    return ended(result)
