"""What is particular to Claude Code: its own telemetry, subagents, and the parent of its traces."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from holodeck_backend_claude.testing import ModelRequest, call_tool, forever, hang, reply, say
from tests.e2e import lab as claude
from tests.support.otlp import OTLPReceiver
from tests.support.probes import Probe

from .conftest import OURS, on_claude, sending_to

pytestmark = on_claude
AGENT = "invoke_agent probe agent"
SECRET = "collector-key-2f9c1e"


async def test_claude_code_s_own_traces_are_part_of_the_turn(
    claude_lab: claude.Lab, receiver: OTLPReceiver
) -> None:
    config = sending_to(receiver, service_name="desk", otlp={"headers": {"x-key": SECRET}})
    _, backend = await claude_lab.run(
        [call_tool("kb", {"query": "x"}), say("ok")], Probe("kb"), observability=config
    )
    await backend.invoke_once("Hi")
    await backend.teardown()

    agent = receiver.one(AGENT)
    theirs = [span for span in receiver.spans if span.scope != OURS]
    assert f"{AGENT} > claude_code.interaction > claude_code.tool" in receiver.tree()
    assert {span.trace_id for span in theirs} == {agent.trace_id}
    assert {span.resource["service.name"] for span in receiver.spans} == {"desk"}
    assert {request.headers["x-key"] for request in receiver.requests} == {SECRET}
    assert "claude_code.token.usage" in {metric.name for metric in receiver.metrics}
    assert "claude_code.user_prompt" in {record.body for record in receiver.logs}


async def test_a_session_sends_its_telemetry_when_it_is_closed(
    claude_lab: claude.Lab, receiver: OTLPReceiver
) -> None:
    quiet = {"schedule_delay_millis": 60_000}
    config = sending_to(receiver, traces=quiet, metrics={"export_interval_ms": 60_000})
    _, backend = await claude_lab.run(forever(say("ok")), observability=config)
    session = await backend.create_session()
    await session.send("one")
    await session.send("two")
    await session.close()

    own = [span for span in receiver.spans if span.name == "claude_code.interaction"]
    assert len(own) == 2
    await backend.teardown()
    assert len(receiver.named(AGENT)) == 2


async def test_the_process_is_told_of_the_collector_by_its_environment_alone(
    claude_lab: claude.Lab, receiver: OTLPReceiver
) -> None:
    begun = asyncio.Event()

    async def answer(_request: ModelRequest) -> Any:
        begun.set()
        return hang()

    config = sending_to(receiver, otlp={"headers": {"x-key": SECRET}})
    _, backend = await claude_lab.run([answer], observability=config)
    session = await backend.create_session()
    turn = asyncio.create_task(session.send("Hi"))
    await begun.wait()
    process = Path("/proc") / str(session.pid)
    assert f"OTEL_EXPORTER_OTLP_HEADERS=x-key={SECRET}" in (process / "environ").read_text()
    assert SECRET not in (process / "cmdline").read_text()
    turn.cancel()
    await asyncio.wait({turn})
    await backend.teardown()


async def test_telemetry_opens_no_way_to_anyone_else(
    claude_lab: claude.Lab, receiver: OTLPReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: list[str] = []

    async def refuse(request: web.BaseRequest) -> web.Response:
        wanted.append(f"{request.method} {request.raw_path}")
        return web.Response(status=403)

    runner = web.ServerRunner(web.Server(refuse), shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    for name in ("HTTPS_PROXY", "HTTP_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{runner.addresses[0][1]}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    _, backend = await claude_lab.run([say("ok")], observability=sending_to(receiver))
    await backend.invoke_once("Hi")
    await backend.teardown()
    await runner.cleanup()

    assert "claude_code.session.count" in {metric.name for metric in receiver.metrics}
    assert wanted == []


async def test_a_subagent_s_spans_are_below_its_call(
    claude_lab: claude.Lab, receiver: OTLPReceiver
) -> None:
    probe = Probe("kb")

    def answer(request: ModelRequest) -> Any:
        if "You look things up." in request.system:
            seen = len(request.tool_results)
            return say("found") if seen else call_tool("kb", {"query": "for the subagent"})
        if request.tool_results:
            return say("done")
        task = {"description": "look", "prompt": "look it up", "subagent_type": "finder"}
        return reply(call_tool("Agent", task), call_tool("kb", {"query": "for the agent"}))

    agents = {"finder": {"description": "Finds", "prompt": "You look things up.", "tools": ["kb"]}}
    _, backend = await claude_lab.run(
        forever(answer), probe, observability=sending_to(receiver), settings={"agents": agents}
    )
    result = await backend.invoke_once("Hi")
    await backend.teardown()

    assert result.response == "done"
    finder = f"{AGENT} > execute_tool Agent > invoke_agent finder"
    tree = receiver.tree(OURS)
    assert sorted(path for path in tree if path.endswith("execute_tool kb")) == [
        f"{finder} > execute_tool kb",
        f"{AGENT} > execute_tool kb",
    ]
    assert any(path.startswith(f"{finder} > chat ") for path in tree)
    subagent = receiver.one("invoke_agent finder")
    assert subagent.attributes["gen_ai.agent.name"] == "finder"
    assert "error.type" not in subagent.attributes
    task = receiver.one("execute_tool Agent").attributes
    assert task["gen_ai.tool.type"] == "extension"
    by_id = {c["call_id"]: c["arguments"].get("query") for c in result.tool_calls}
    below = {
        (receiver.parent(span) or span).name: by_id[span.attributes["gen_ai.tool.call.id"]]
        for span in receiver.named("execute_tool kb")
    }
    assert below == {AGENT: "for the agent", "invoke_agent finder": "for the subagent"}
