"""``observability:`` as the variables of Claude Code."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from holodeck_backend_claude import translate_observability
from holodeck_backend_claude.claude.telemetry import exports_telemetry, telemetry_variables
from holodeck_backend_claude.config import Agent, ObservabilityConfig


def config(otlp: dict[str, Any] | None = None, **blocks: Any) -> ObservabilityConfig:
    exporters = {"otlp": otlp} if otlp is not None else {}
    return ObservabilityConfig(enabled=True, exporters=exporters, **blocks)


def agent(observability: ObservabilityConfig | None) -> Agent:
    return Agent(
        name="helper",
        model={"provider": "anthropic", "name": "m"},
        instructions="Help.",
        observability=observability,
    )


def test_everything_that_claude_code_can_be_told_is_told() -> None:
    given = config(
        {
            "endpoint": "https://collector:4318/",
            "protocol": "http",
            "headers": {"x-key": "a b", "authorization": "Bearer q=="},
            "timeout_ms": 2_000,
            "compression": "gzip",
        },
        service_name="desk",
        resource_attributes={"deployment.environment": "a b,c"},
        traces={"sample_rate": 0.25, "schedule_delay_millis": 100, "max_queue_size": 600},
        metrics={"export_interval_ms": 1_500},
    )
    assert translate_observability(given) == {
        "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
        "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA": "1",
        "OTEL_METRICS_EXPORTER": "otlp",
        "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_METRIC_EXPORT_INTERVAL": "1500",
        "OTEL_LOGS_EXPORT_INTERVAL": "1500",
        "OTEL_TRACES_EXPORT_INTERVAL": "100",
        "OTEL_BSP_MAX_QUEUE_SIZE": "600",
        "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "512",
        "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
        "OTEL_TRACES_SAMPLER_ARG": "0.25",
        "OTEL_SERVICE_NAME": "desk",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=a%20b%2Cc",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_EXPORTER_OTLP_ENDPOINT": "https://collector:4318",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "2000",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
        "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a b,authorization=Bearer q==",
    }


def test_headers_are_encoded_over_grpc_where_claude_code_decodes_them() -> None:
    given = translate_observability(config({"headers": {"x-key": "a b,c"}}))
    assert given["OTEL_EXPORTER_OTLP_PROTOCOL"] == "grpc"
    assert given["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://localhost:4317"
    assert given["OTEL_EXPORTER_OTLP_HEADERS"] == "x-key=a%20b%2Cc"


@pytest.mark.parametrize("signal", ["traces", "metrics", "logs"])
def test_a_signal_that_is_off_has_no_exporter(signal: str) -> None:
    given = translate_observability(config({}, **{signal: {"enabled": False}}))
    exporters = {s: given[f"OTEL_{s.upper()}_EXPORTER"] for s in ("traces", "metrics", "logs")}
    assert exporters == {"traces": "otlp", "metrics": "otlp", "logs": "otlp"} | {signal: "none"}
    assert ("CLAUDE_CODE_ENHANCED_TELEMETRY_BETA" in given) is (signal != "traces")


def test_content_stays_out_unless_asked_for_and_where_it_could_not_be_masked() -> None:
    opt_ins = {"OTEL_LOG_USER_PROMPTS", "OTEL_LOG_TOOL_DETAILS", "OTEL_LOG_TOOL_CONTENT"}
    asked = {"capture_content": True}
    assert not opt_ins & translate_observability(config({})).keys()
    assert opt_ins <= translate_observability(config({}, traces=asked)).keys()
    masked = {**asked, "redaction_patterns": ["x"]}
    assert not opt_ins & translate_observability(config({}, traces=masked)).keys()


def test_one_warning_names_all_that_cannot_be_told(caplog: pytest.LogCaptureFixture) -> None:
    translate_observability(
        config(
            {"protocol": "http", "headers": {"x-key": "a,b"}, "compression": "deflate"},
            traces={"capture_content": True, "redaction_patterns": ["x"]},
            logs={
                "level": "ERROR",
                "include_trace_context": False,
                "filter_namespaces": ["elsewhere"],
            },
        )
    )
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    for key in (
        "exporters.otlp.headers.x-key",
        "exporters.otlp.compression",
        "traces.capture_content",
        "traces.redaction_patterns",
        "logs.level",
        "logs.include_trace_context",
        "logs.filter_namespaces",
    ):
        assert key in record.getMessage()
    assert "a,b" not in caplog.text


def test_what_can_be_told_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    translate_observability(config({}))
    assert caplog.records == []


def test_off_is_nothing() -> None:
    assert translate_observability(ObservabilityConfig()) == {}
    assert telemetry_variables(agent(None)) == {}


def test_without_a_collector_claude_code_sends_nothing() -> None:
    given = translate_observability(config())
    assert {given[f"OTEL_{s}_EXPORTER"] for s in ("METRICS", "LOGS", "TRACES")} == {"none"}
    assert telemetry_variables(agent(config())) == {}
    assert not exports_telemetry(agent(config()))
    off = {signal: {"enabled": False} for signal in ("traces", "metrics", "logs")}
    assert not exports_telemetry(agent(config({}, **off)))
    assert exports_telemetry(agent(config({})))


def test_the_service_is_named_after_the_agent_where_nothing_else_is_said() -> None:
    assert telemetry_variables(agent(config({})))["OTEL_SERVICE_NAME"] == "holodeck-helper"
    named = telemetry_variables(agent(config({}, service_name="desk")))
    assert named["OTEL_SERVICE_NAME"] == "desk"


def test_objects_of_the_same_shape_are_taken() -> None:
    plain = config({"headers": {"x-key": "a"}})
    other = SimpleNamespace(
        enabled=True,
        service_name=None,
        resource_attributes={},
        traces=plain.traces,
        metrics=plain.metrics,
        logs=SimpleNamespace(
            enabled=True,
            level=SimpleNamespace(value="INFO"),
            include_trace_context=True,
            filter_namespaces=["semantic_kernel"],
        ),
        exporters=SimpleNamespace(
            prometheus=None,
            azure_monitor=None,
            otlp=SimpleNamespace(
                enabled=True,
                endpoint="http://localhost:4317",
                protocol=SimpleNamespace(value="grpc"),
                headers={"x-key": "a"},
                timeout_ms=30_000,
                compression=None,
            ),
        ),
    )
    assert translate_observability(other) == translate_observability(plain)
