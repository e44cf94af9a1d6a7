"""Where telemetry goes, and that a collector that does not take it does no harm."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import socket
import sys

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from holodeck_backend_claude.config import ObservabilityConfig
from holodeck_backend_claude.contract import BackendInitError, ToolCall, ToolResult
from holodeck_backend_claude.testing import call_tool, forever, say
from holodeck_backend_claude.tracing import providers
from tests.support.otlp import OTLPReceiver
from tests.support.probes import Probe

from .conftest import OURS, Lab, on_semantic_kernel, sending_to

pytestmark = on_semantic_kernel
AGENT = "invoke_agent probe agent"
log = logging.getLogger("holodeck_backend_claude.tests")


async def test_headers_and_names_arrive_over_http(lab: Lab, receiver: OTLPReceiver) -> None:
    otlp = {"headers": {"Authorization": "Bearer a,b"}, "compression": "gzip"}
    config = sending_to(
        receiver, otlp=otlp, service_name="desk", resource_attributes={"deployment": "a b"}
    )
    _, backend = await lab.run([say("ok")], observability=config)
    await backend.invoke_once("Hi")
    await backend.teardown()

    assert {request.headers["authorization"] for request in receiver.requests} == {"Bearer a,b"}
    assert {request.headers["content-encoding"] for request in receiver.requests} == {"gzip"}
    resource = receiver.one(AGENT).resource
    assert (resource["service.name"], resource["deployment"]) == ("desk", "a b")


async def test_everything_arrives_over_grpc(lab: Lab, receiver: OTLPReceiver) -> None:
    address = receiver.grpc_url.removeprefix("http://")  # without a scheme: `insecure` decides
    otlp = {"endpoint": address, "headers": {"X-Key": "a,b"}, "timeout_ms": 7_000}
    config = ObservabilityConfig(
        enabled=True, exporters={"otlp": {**otlp, "compression": "deflate"}}
    )
    _, backend = await lab.run([say("ok")], observability=config)
    log.warning("told")
    await backend.invoke_once("Hi")
    await backend.teardown()

    assert {r.signal for r in receiver.requests} == {"traces", "metrics", "logs"}
    assert {(r.protocol, r.headers["x-key"]) for r in receiver.requests} == {("grpc", "a,b")}
    assert all(5 < (r.seconds_left or 0) <= 7 for r in receiver.requests)
    assert receiver.one(AGENT)


async def test_spans_and_metrics_are_sent_while_the_agent_runs(
    lab: Lab, receiver: OTLPReceiver
) -> None:
    config = sending_to(
        receiver,
        traces={"schedule_delay_millis": 100, "max_export_batch_size": 1},
        metrics={"export_interval_ms": 1_000},
    )
    _, backend = await lab.run([say("ok")], observability=config)
    await backend.invoke_once("Hi")

    await receiver.until(lambda got: len(got.spans) == 2 and got.metrics)
    assert len([r for r in receiver.requests if r.signal == "traces"]) == 2
    await backend.teardown()


async def test_spans_beyond_the_queue_are_dropped(lab: Lab, receiver: OTLPReceiver) -> None:
    queue = {"max_queue_size": 1, "max_export_batch_size": 1, "schedule_delay_millis": 60_000}
    _, backend = await lab.run(forever(say("ok")), observability=sending_to(receiver, traces=queue))
    await asyncio.gather(*(backend.invoke_once("Hi") for _ in range(20)))
    await backend.teardown()

    assert 0 < len(receiver.spans) < 40


async def test_tokens_and_durations_are_measured(lab: Lab, receiver: OTLPReceiver) -> None:
    script = [call_tool("kb", {"query": "x"}), say("ok")]
    _, backend = await lab.run(script, Probe("kb"), observability=sending_to(receiver))
    await backend.invoke_once("Hi")
    await backend.teardown()

    metrics = {metric.name: metric for metric in receiver.metrics if metric.scope == OURS}
    used = metrics["gen_ai.client.token.usage"]
    assert used.unit == "{token}"
    assert {p["gen_ai.token.type"]: (total, n) for p, total, n in used.points} == {
        "input": (20, 2),
        "output": (10, 2),
    }
    took = metrics["gen_ai.client.operation.duration"]
    assert took.unit == "s"
    assert {p["gen_ai.operation.name"]: n for p, _, n in took.points} == {
        "chat": 2,
        "execute_tool": 1,
        "invoke_agent": 1,
    }


async def test_log_records_are_sent_masked_with_the_span_they_belong_to(
    lab: Lab, receiver: OTLPReceiver, caplog: pytest.LogCaptureFixture
) -> None:
    def tell(_call: ToolCall) -> ToolResult:
        log.error("with sk-ant-api03-AAAABBBBCCCC0000 of case 4711")
        log.warning("below the level")
        logging.getLogger("elsewhere").error("of another namespace")
        return ToolResult.from_text("r")

    script = [call_tool("kb", {"query": "x"}), say("ok")]
    config = sending_to(
        receiver, logs={"level": "ERROR"}, traces={"redaction_patterns": [r"case \d+"]}
    )
    _, backend = await lab.run(script, Probe("kb", tell), observability=config)
    await backend.invoke_once("Hi")
    await backend.teardown()
    log.error("after the end")

    (record,) = receiver.logs
    assert record.body == "with [secret] of [secret]"
    assert (record.severity, record.scope) == ("ERROR", log.name)
    assert record.span_id == receiver.one("execute_tool kb").span_id
    assert "below the level" in caplog.text  # everybody else sees what they saw before


async def test_a_namespace_of_the_user_without_trace_context(
    lab: Lab, receiver: OTLPReceiver
) -> None:
    def tell(_call: ToolCall) -> ToolResult:
        logging.getLogger("elsewhere.below").warning("heard")
        return ToolResult.from_text("r")

    logs = {"filter_namespaces": ["elsewhere"], "include_trace_context": False}
    _, backend = await lab.run(
        [call_tool("kb", {"query": "x"}), say("ok")],
        Probe("kb", tell),
        observability=sending_to(receiver, logs=logs),
    )
    await backend.invoke_once("Hi")
    await backend.teardown()

    assert [(record.body, record.span_id) for record in receiver.logs] == [("heard", "")]


@pytest.mark.parametrize("pretty", [True, False])
async def test_the_console_is_stderr(
    lab: Lab, capsys: pytest.CaptureFixture[str], pretty: bool
) -> None:
    console = {"pretty_print": pretty, "include_timestamps": pretty}
    config = ObservabilityConfig(
        enabled=True,
        exporters={"console": console} if not pretty else {},  # it is the default
        metrics={"enabled": False},
        logs={"enabled": False},
    )
    _, backend = await lab.run([say("ok")], observability=config)
    await backend.invoke_once("Hi")
    await backend.teardown()

    out, err = capsys.readouterr()
    assert out == ""
    assert AGENT in err
    assert ("start_time" in err) is pretty
    if not pretty:
        assert [json.loads(line)["name"].split()[0] for line in err.splitlines()] == [
            "chat",
            "invoke_agent",
        ]


@pytest.mark.parametrize("protocol", ["http", "grpc"])
async def test_a_dead_collector_is_one_warning(
    lab: Lab, caplog: pytest.LogCaptureFixture, protocol: str
) -> None:
    otlp = {"protocol": protocol, "endpoint": "http://127.0.0.1:9"}
    config = ObservabilityConfig(
        enabled=True, exporters={"otlp": otlp}, traces={"schedule_delay_millis": 100}
    )
    _, backend = await lab.run(forever(say("ok")), observability=config)
    assert (await backend.invoke_once("Hi")).response == "ok"
    await backend.teardown()

    told = [r for r in caplog.records if r.levelno >= logging.WARNING]
    assert len(told) == 1, [r.getMessage() for r in told]
    nothing = r"nothing (listens there \(connection refused\)|answers there)"
    assert re.search(rf"http://127\.0\.0\.1:9: {nothing}; the agent goes on", told[0].getMessage())
    assert all(record.exc_info is None for record in caplog.records)


@pytest.mark.parametrize("status", [302, 307])
async def test_a_collector_that_redirects_is_one_warning_and_nothing_is_sent_elsewhere(
    lab: Lab, receiver: OTLPReceiver, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    async def elsewhere(request: web.Request) -> web.Response:
        return web.Response(status=status, headers={"Location": f"{receiver.url}{request.path}"})

    app = web.Application()
    app.router.add_post("/{path:.*}", elsewhere)
    async with TestServer(app) as server:
        otlp = {"protocol": "http", "endpoint": str(server.make_url("")).rstrip("/")}
        config = ObservabilityConfig(enabled=True, exporters={"otlp": otlp})
        _, backend = await lab.run([say("ok")], observability=config)
        await backend.invoke_once("Hi")
        await backend.teardown()

    told = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert len(told) == 1
    assert f"it answered {status}, a redirect" in told[0]
    assert receiver.requests == []


async def test_a_collector_that_never_answers_does_not_keep_the_agent(
    lab: Lab, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(providers, "CLOSE_SECONDS", 0.3)
    silent = socket.create_server(("127.0.0.1", 0))  # it takes connections and says nothing
    otlp = {"protocol": "http", "endpoint": f"http://127.0.0.1:{silent.getsockname()[1]}"}
    config = ObservabilityConfig(enabled=True, exporters={"otlp": otlp})
    _, backend = await lab.run([say("ok")], observability=config)
    await backend.invoke_once("Hi")
    await backend.teardown()

    silent.close()
    told = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert len(told) == 1
    assert "not taken within 0.3 s" in told[0]


async def test_keys_without_effect_are_named_once(
    lab: Lab, receiver: OTLPReceiver, caplog: pytest.LogCaptureFixture
) -> None:
    config = sending_to(
        receiver,
        disable_provider_tracing=True,
        traces={"capture_evaluation_content": True},
    )
    _, backend = await lab.run([say("ok")], observability=config)
    await backend.invoke_once("Hi")

    told = [r.getMessage() for r in caplog.records if "no effect" in r.getMessage()]
    assert [text.split()[0] for text in told] == [
        "observability.disable_provider_tracing",
        "observability.traces.capture_evaluation_content",
    ]
    await backend.teardown()


async def test_an_exporter_that_is_not_installed_is_named_with_the_extra(
    lab: Lab, receiver: OTLPReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)

    with pytest.raises(BackendInitError, match=r"holodeck-backend-claude\[otel\]"):
        await lab.run([say("ok")], observability=sending_to(receiver))
