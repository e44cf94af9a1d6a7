"""MCP servers that Claude Code starts itself: they do not start, or die."""

from __future__ import annotations

import json
import os
import signal

from holodeck_backend_claude.testing import call_tool, forever, say
from tests.faults.lab import FaultLab, each, ended, refusal
from tests.faults.registry import fault
from tests.faults.test_parts import INIT, backend_with, server

NATIVE = {"native_mcp": True}
ECHO = call_tool("mcp__raw__echo", {"text": "again"})


@fault(
    "part",
    "an MCP server of `claude.native_mcp` does not start",
    dict.fromkeys(("no such program", "it ends at once", "it speaks no MCP"), INIT),
)
async def test_native_server_does_not_start(lab: FaultLab) -> dict[str, str]:
    ways = {
        "no such program": {"command": "no-such-program-here", "args": ()},
        "it ends at once": {"command": "sh", "args": ("-c", "exit 7")},
        "it speaks no MCP": {"command": "sh", "args": ("-c", "exec sleep 300")},
    }

    async def try_one(way: str) -> str:
        keys = {**ways[way], "timeout": 1}
        error = await refusal(backend_with(lab, server(lab, **keys), settings=NATIVE))
        assert "MCP server failed: raw" in str(error)
        return type(error).__name__

    return await each(tuple(ways), try_one)


@fault(
    "part",
    "an MCP server of `claude.native_mcp` dies: the model is told, the next call works",
    {"in a call": "answer", "between two turns": "answer"},
)
async def test_native_server_dies(lab: FaultLab) -> dict[str, str]:
    backend = await backend_with(lab, server(lab), settings=NATIVE)
    session = await backend.create_session()
    lab.model_says([call_tool("mcp__raw__die", {"code": 9}), ECHO, say("Done.")])
    in_a_call = await session.run_turn("go")
    died, again = in_a_call.tool_results
    assert died["is_error"]
    assert "Connection closed" in died["result"]
    assert "again" in again["result"]
    lines = (lab.folder / "record.jsonl").read_text().splitlines()
    os.kill(json.loads(lines[-1])["pid"], signal.SIGKILL)
    lab.model_says([ECHO, ECHO, forever(say("Done."))])
    afterwards = await session.run_turn("go on")
    assert "again" in afterwards.tool_results[-1]["result"]
    await session.close()
    return {"in a call": ended(in_a_call), "between two turns": ended(afterwards)}
