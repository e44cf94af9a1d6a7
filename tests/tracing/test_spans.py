"""A turn as spans, on both backends: who is below whom, and what each says."""

from __future__ import annotations

import asyncio
import json

import pytest
from opentelemetry import trace

from holodeck_backend_claude.contract import ToolCall, ToolResult
from holodeck_backend_claude.testing import (
    Answer,
    ModelRequest,
    call_tool,
    fail,
    forever,
    reply,
    say,
)
from tests.support.otlp import OTLPReceiver, ReceivedSpan
from tests.support.probes import Probe

from .conftest import OURS, Lab, on_semantic_kernel, sending_to

AGENT = "invoke_agent probe agent"


def ours(receiver: OTLPReceiver) -> list[ReceivedSpan]:
    return [span for span in receiver.spans if span.scope == OURS]


async def test_a_turn_is_the_agent_its_answers_and_its_calls(
    lab: Lab, receiver: OTLPReceiver
) -> None:
    probe = Probe("kb")
    _, backend = await lab.run(
        [call_tool("kb", {"query": "x"}), say("ok")], probe, observability=sending_to(receiver)
    )
    result = await backend.invoke_once("Hi")
    await backend.teardown()

    model = str(lab.model["name"])
    chat = f"{AGENT} > chat {model}"
    assert receiver.tree(OURS) == [AGENT, chat, f"{AGENT} > execute_tool kb", chat]
    agent = receiver.one(AGENT).attributes
    assert agent["gen_ai.operation.name"] == "invoke_agent"
    assert agent["gen_ai.provider.name"] == lab.model["provider"]
    assert agent["gen_ai.agent.name"] == "probe agent"
    assert agent["gen_ai.conversation.id"] == result.session_id
    assert agent["gen_ai.request.model"] == agent["gen_ai.response.model"] == model
    assert agent["gen_ai.usage.input_tokens"] == result.token_usage["input_tokens"] == 20
    assert agent["gen_ai.usage.output_tokens"] == result.token_usage["output_tokens"] == 10
    assert agent.get("holodeck.usage.cost_usd") == result.cost_usd
    assert agent["holodeck.num_turns"] == 2
    first, last = (span.attributes for span in receiver.named(f"chat {model}"))
    assert first["gen_ai.operation.name"] == "chat"
    assert first["gen_ai.usage.input_tokens"] == 10
    assert first["gen_ai.usage.output_tokens"] == 5
    assert first["gen_ai.usage.cache_read.input_tokens"] == 0
    assert first["gen_ai.response.id"] != last["gen_ai.response.id"]
    assert first["gen_ai.response.finish_reasons"] in (["tool_use"], ["tool_calls"])
    assert last["gen_ai.response.finish_reasons"] == agent["gen_ai.response.finish_reasons"]
    assert first["gen_ai.conversation.id"] == result.session_id
    call = receiver.one("execute_tool kb")
    assert call.attributes["gen_ai.operation.name"] == "execute_tool"
    assert call.attributes["gen_ai.tool.name"] == "kb"
    assert call.attributes["gen_ai.tool.type"] == "function"
    assert call.attributes["gen_ai.tool.call.id"] == result.tool_calls[0]["call_id"]
    assert "error.type" not in call.attributes
    assert call.resource["service.name"] == "holodeck-probe agent"


async def test_nothing_that_was_said_is_in_the_telemetry_unless_asked_for(
    lab: Lab, receiver: OTLPReceiver
) -> None:
    probe = Probe("kb", lambda _: ToolResult.from_text("RESULT-5d1e"))
    script = [call_tool("kb", {"query": "ARGUMENT-5d1e"}), say("ANSWER-5d1e")]
    _, backend = await lab.run(script, probe, observability=sending_to(receiver))
    await backend.invoke_once("QUESTION-5d1e")
    await backend.teardown()

    assert ours(receiver)
    assert "5d1e" not in repr((receiver.spans, receiver.logs, receiver.metrics))
    assert "You are a probe" not in repr((receiver.spans, receiver.logs, receiver.metrics))


async def test_what_was_said_is_captured_masked(lab: Lab, receiver: OTLPReceiver) -> None:
    secret = "sk-ant-api03-AAAABBBBCCCCDDDD0000"
    probe = Probe("kb", lambda _: ToolResult.from_text(f"the key is {secret}, case 471147114711"))
    script = [
        call_tool("kb", {"query": "case 471147114711", "password": "hunter2222"}),
        say("case 471147114711"),
    ]
    probe.input_schema["properties"]["password"] = {"type": "string"}
    traces = {"capture_content": True, "redaction_patterns": [r"case \d+"]}
    _, backend = await lab.run(script, probe, observability=sending_to(receiver, traces=traces))
    await backend.invoke_once("about case 471147114711")
    await backend.teardown()

    sent = repr((receiver.spans, receiver.logs))
    assert "471147114711" not in sent
    assert secret not in sent
    assert "hunter2222" not in sent
    agent = receiver.one(AGENT).attributes
    asked = json.loads(agent["gen_ai.input.messages"])
    assert asked == [{"role": "user", "parts": [{"type": "text", "content": "about [secret]"}]}]
    assert json.loads(agent["gen_ai.output.messages"])[0]["parts"][0]["content"] == "[secret]"
    assert "You are a probe." in agent["gen_ai.system_instructions"]
    call = receiver.one("execute_tool kb").attributes
    assert json.loads(call["gen_ai.tool.call.arguments"]) == {
        "query": "[secret]",
        "password": "[secret]",
    }
    assert call["gen_ai.tool.call.result"] == "the key is [secret], [secret]"
    answer = receiver.named(f"chat {lab.model['name']}")[0].attributes
    (said,) = json.loads(answer["gen_ai.output.messages"])
    assert said["parts"][0]["type"] == "tool_call"
    assert said["parts"][0]["name"] == "kb"


async def test_the_span_of_a_call_is_current_while_its_tool_runs(
    lab: Lab, receiver: OTLPReceiver
) -> None:
    seen: dict[str, str] = {}

    async def note(call: ToolCall) -> ToolResult:
        span = trace.get_current_span().get_span_context()
        seen[str(call.arguments["query"])] = f"{span.span_id:016x}"
        await asyncio.sleep(0)
        return ToolResult.from_text("r")

    both = reply(call_tool("kb", {"query": "one"}), call_tool("kb", {"query": "two"}))
    _, backend = await lab.run(
        [both, say("ok")], Probe("kb", note), observability=sending_to(receiver)
    )
    result = await backend.invoke_once("Hi")
    await backend.teardown()

    by_call = {
        span.attributes["gen_ai.tool.call.id"]: span.span_id
        for span in receiver.named("execute_tool kb")
    }
    called = {c["arguments"]["query"]: c["call_id"] for c in result.tool_calls}
    assert {query: by_call[call_id] for query, call_id in called.items()} == seen


async def test_turns_that_run_at_once_keep_their_spans_apart(
    lab: Lab, receiver: OTLPReceiver
) -> None:
    arrived = asyncio.Barrier(3)

    async def meet(call: ToolCall) -> ToolResult:
        await arrived.wait()  # all three turns are within a call now
        return ToolResult.from_text(str(call.arguments["query"]))

    def answer(request: ModelRequest) -> Answer:
        if request.tool_results:
            return say(request.tool_results[0].text)
        return call_tool("kb", {"query": request.last_user_text.split()[-1]})

    _, backend = await lab.run(
        forever(answer), Probe("kb", meet), observability=sending_to(receiver)
    )
    results = await asyncio.gather(*(backend.invoke_once(f"turn {n}") for n in range(3)))
    await backend.teardown()

    assert sorted(result.response for result in results) == ["0", "1", "2"]
    agents = receiver.named(AGENT)
    assert len({span.trace_id for span in agents}) == 3
    for agent in agents:
        below = [span for span in ours(receiver) if span.parent_id == agent.span_id]
        assert sorted(span.name.split()[0] for span in below) == ["chat", "chat", "execute_tool"]
        mine = {span.attributes["gen_ai.conversation.id"] for span in [agent, *below]}
        assert mine == {agent.attributes["gen_ai.conversation.id"]}


async def test_a_failing_tool_and_a_failing_model_are_errors(
    lab: Lab, receiver: OTLPReceiver
) -> None:
    def fall(_call: ToolCall) -> ToolResult:
        raise RuntimeError("no")

    script = [call_tool("kb", {"query": "x"}), forever(fail(400, "such a request"))]
    _, backend = await lab.run(script, Probe("kb", fall), observability=sending_to(receiver))
    result = await backend.invoke_once("Hi")
    await backend.teardown()

    assert result.error_reason == "provider error: 400"
    call = receiver.one("execute_tool kb")
    assert (call.status, call.attributes["error.type"]) == (2, "tool_error")
    agent = receiver.one(AGENT)
    assert (agent.status, agent.attributes["error.type"]) == (2, "400")
    answers = receiver.named(f"chat {lab.model['name']}")
    assert [span.status for span in answers] == [0, 2]
    assert answers[1].attributes["error.type"]
    assert "such a request" not in repr(ours(receiver))


async def test_a_turn_that_is_left_early_ends_its_spans(lab: Lab, receiver: OTLPReceiver) -> None:
    begun = asyncio.Event()

    async def hang(_call: ToolCall) -> ToolResult:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    _, backend = await lab.run(
        [call_tool("kb", {"query": "x"})], Probe("kb", hang), observability=sending_to(receiver)
    )
    session = await backend.create_session()
    turn = asyncio.create_task(session.send("Hi"))
    await begun.wait()
    turn.cancel()
    await asyncio.wait({turn})
    await session.close()
    await backend.teardown()

    assert receiver.one(AGENT).attributes["error.type"] == "interrupted"
    assert receiver.one("execute_tool kb").attributes["error.type"] in ("interrupted", "tool_error")


@on_semantic_kernel
async def test_a_sampled_share_of_nothing_traces_nothing(lab: Lab, receiver: OTLPReceiver) -> None:
    config = sending_to(receiver, traces={"sample_rate": 0.0})
    _, backend = await lab.run([say("ok")], observability=config)
    await backend.invoke_once("Hi")
    await backend.teardown()

    assert receiver.spans == []
    assert any(metric.scope == OURS for metric in receiver.metrics)


@on_semantic_kernel
@pytest.mark.parametrize("signal", ["traces", "metrics", "logs"])
async def test_each_signal_can_be_switched_off(
    lab: Lab, receiver: OTLPReceiver, signal: str
) -> None:
    config = sending_to(receiver, **{signal: {"enabled": False}})
    _, backend = await lab.run([say("ok")], observability=config, model={"temperature": 0.5})
    await backend.invoke_once("Hi")
    await backend.teardown()

    assert signal not in {request.signal for request in receiver.requests}
    assert {"traces", "metrics"} - {signal} <= {r.signal for r in receiver.requests}
