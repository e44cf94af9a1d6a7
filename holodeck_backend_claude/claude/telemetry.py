"""Claude Code's own telemetry: from ``observability:`` to the variables that it reads.

Measured with Claude Code 2.1.142 and 2.1.332: it decodes header values over gRPC and not over
HTTP; it takes the parent of its spans from TRACEPARENT when it starts; what it has not sent yet it
sends when its input ends, and never where it is killed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from holodeck_backend_claude.config.observability import LogsConfig
from holodeck_backend_claude.redaction import passwords_in, remember_secrets

if TYPE_CHECKING:
    from holodeck_backend_claude.config import Agent
    from holodeck_backend_claude.tracing import TurnTrace

log = logging.getLogger(__name__)

_PARENT: ContextVar[Mapping[str, str] | None] = ContextVar("holodeck_parent_span", default=None)
_PROTOCOLS = {"grpc": "grpc", "http": "http/protobuf"}
_ON = "1"


HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
"""The variable with what the collector asks for, a credential as often as not."""


def exports_telemetry(agent: Agent) -> bool:
    """Whether Claude Code sends telemetry of its own, so that its process must end in order.

    What it has not sent yet is lost where the process is killed.
    """
    wanted = agent.observability
    if wanted is None or not wanted.enabled or wanted.exporters.to_collector is None:
        return False
    return wanted.traces.enabled or wanted.metrics.enabled or wanted.logs.enabled


def telemetry_variables(agent: Agent) -> dict[str, str]:
    """The variables for a process of an agent; none where it sends nothing."""
    if agent.observability is None or not exports_telemetry(agent):
        return {}
    variables, _lost = _translated(agent.observability)
    return {"OTEL_SERVICE_NAME": f"holodeck-{agent.name}", **variables}


def report_unmapped(agent: Agent) -> None:
    """One warning that names what of ``observability:`` Claude Code has no setting for."""
    if agent.observability is not None and exports_telemetry(agent):
        translate_observability(agent.observability)


@contextmanager
def part_of(trace: TurnTrace) -> Iterator[None]:
    """Processes that are started meanwhile are for this turn alone: their traces join its own."""
    token = _PARENT.set(trace.environment())
    try:
        yield
    finally:
        _PARENT.reset(token)


def parent_variables(agent: Agent) -> Mapping[str, str]:
    """The variables that make the traces of a process part of a turn, where it is for one."""
    return (_PARENT.get() or {}) if exports_telemetry(agent) else {}


def translate_observability(observability: Any) -> dict[str, str]:
    """The variables by which Claude Code sends its own metrics, logs and traces.

    One warning names what was set and cannot be said to Claude Code.

    Args:
        observability: The ``observability:`` block of an agent, or an object of its shape.

    Returns:
        Variables by name; none where the block is off. Headers are among them, which are secret.
    """
    variables, lost = _translated(observability)
    if lost:
        log.warning(
            "Claude Code has no setting for %s of observability; its own telemetry goes without, "
            "that of this package does not",
            ", ".join(lost),
        )
    return variables


def _translated(observability: Any) -> tuple[dict[str, str], list[str]]:
    """The variables, and the keys that have none."""
    if not observability.enabled:
        return {}, []
    otlp = observability.exporters.otlp
    collector = otlp if otlp is not None and otlp.enabled else None
    variables = {"CLAUDE_CODE_ENABLE_TELEMETRY": _ON}
    for signal in ("metrics", "logs", "traces"):
        sent = collector is not None and getattr(observability, signal).enabled
        variables[f"OTEL_{signal.upper()}_EXPORTER"] = "otlp" if sent else "none"
    interval = str(observability.metrics.export_interval_ms)
    variables["OTEL_METRIC_EXPORT_INTERVAL"] = interval
    variables["OTEL_LOGS_EXPORT_INTERVAL"] = interval
    variables |= _identity(observability)
    lost = _not_mapped(observability)
    if collector is not None:
        variables |= _collector(collector, lost)
        variables |= _traces(observability.traces, lost)
    return variables, lost


def _identity(observability: Any) -> dict[str, str]:
    found = {}
    if observability.service_name:
        found["OTEL_SERVICE_NAME"] = observability.service_name
    if observability.resource_attributes:
        found["OTEL_RESOURCE_ATTRIBUTES"] = ",".join(
            f"{quote(key, safe='.')}={quote(str(value), safe='')}"
            for key, value in observability.resource_attributes.items()
        )
    return found


def _collector(otlp: Any, lost: list[str]) -> dict[str, str]:
    protocol = str(getattr(otlp.protocol, "value", otlp.protocol))
    address = str(getattr(otlp, "url", otlp.endpoint))
    remember_secrets(passwords_in(address))
    found = {
        "OTEL_EXPORTER_OTLP_PROTOCOL": _PROTOCOLS[protocol],
        "OTEL_EXPORTER_OTLP_ENDPOINT": address,
        "OTEL_EXPORTER_OTLP_TIMEOUT": str(otlp.timeout_ms),
    }
    headers = _headers(otlp.headers, protocol, lost)
    if headers:
        found[HEADERS] = headers
    if otlp.compression == "gzip":
        found["OTEL_EXPORTER_OTLP_COMPRESSION"] = "gzip"
    elif otlp.compression:
        lost.append("exporters.otlp.compression")
    return found


def _headers(headers: Mapping[str, Any], protocol: str, lost: list[str]) -> str:
    """The headers in one line; over HTTP a value with a comma has no way to be written."""
    written = []
    for name, secret in headers.items():
        value = str(secret.get_secret_value() if hasattr(secret, "get_secret_value") else secret)
        remember_secrets([value])
        if protocol == "grpc":
            written.append(f"{name}={quote(value, safe='')}")
        elif "," in value or value != value.strip():
            lost.append(f"exporters.otlp.headers.{name}")
        else:
            written.append(f"{name}={value}")
    return ",".join(written)


def _traces(traces: Any, lost: list[str]) -> dict[str, str]:
    if not traces.enabled:
        return {}
    found = {
        "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA": _ON,
        "OTEL_TRACES_EXPORT_INTERVAL": str(traces.schedule_delay_millis),
        "OTEL_BSP_MAX_QUEUE_SIZE": str(traces.max_queue_size),
        "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": str(traces.max_export_batch_size),
    }
    if traces.sample_rate != 1:
        found["OTEL_TRACES_SAMPLER"] = "parentbased_traceidratio"
        found["OTEL_TRACES_SAMPLER_ARG"] = f"{traces.sample_rate:g}"
    if traces.capture_content and traces.redaction_patterns:
        # it could not apply them, so the content stays out of what it sends
        lost += ["traces.capture_content", "traces.redaction_patterns"]
    elif traces.capture_content:
        found |= dict.fromkeys(
            ("OTEL_LOG_USER_PROMPTS", "OTEL_LOG_TOOL_DETAILS", "OTEL_LOG_TOOL_CONTENT"), _ON
        )
    return found


def _not_mapped(observability: Any) -> list[str]:
    exporters, logs = observability.exporters, observability.logs
    lost = [
        f"exporters.{name}"
        for name in ("prometheus", "azure_monitor")
        if (exporter := getattr(exporters, name)) is not None and exporter.enabled
    ]
    usual = LogsConfig()
    level = getattr(logs.level, "value", logs.level)
    if level != usual.level:
        lost.append("logs.level")
    if not logs.include_trace_context:
        lost.append("logs.include_trace_context")
    if set(logs.filter_namespaces) - set(usual.filter_namespaces):
        lost.append("logs.filter_namespaces")
    return lost
