"""The exporters that ``observability.exporters`` asks for: a collector, and stderr."""

from __future__ import annotations

import importlib
from typing import Any, Literal, TypeAlias

from holodeck_backend_claude.config.observability import ExportersConfig, OTLPExporterConfig
from holodeck_backend_claude.redaction import passwords_in, remember_secrets
from holodeck_backend_claude.tracing.console import Stderr, formatter
from holodeck_backend_claude.tracing.watching import Watch

Signal: TypeAlias = Literal["traces", "metrics", "logs"]

_CLASSES = {
    "traces": ("trace_exporter", "OTLPSpanExporter"),
    "metrics": ("metric_exporter", "OTLPMetricExporter"),
    "logs": ("_log_exporter", "OTLPLogExporter"),
}


def exporters_of(config: ExportersConfig, signal: Signal, watch: Watch) -> list[Any]:
    """The exporters of one signal.

    Raises:
        ModuleNotFoundError: The exporter of the protocol is not installed.
    """
    found = []
    if (otlp := config.to_collector) is not None:
        found.append(watch.over(_to_collector(otlp, signal, watch)))
    if (console := config.to_console) is not None:
        found.append(_to_console(signal, formatter(console)))
    return found


def _to_console(signal: Signal, write: Any) -> Any:
    out: Any = Stderr()
    match signal:
        case "traces":
            from opentelemetry.sdk.trace.export import ConsoleSpanExporter

            return ConsoleSpanExporter(out=out, formatter=write)
        case "metrics":
            from opentelemetry.sdk.metrics.export import ConsoleMetricExporter

            return ConsoleMetricExporter(out=out, formatter=write)
        case "logs":
            from opentelemetry.sdk._logs.export import ConsoleLogRecordExporter

            return ConsoleLogRecordExporter(out=out, formatter=write)


def _to_collector(otlp: OTLPExporterConfig, signal: Signal, watch: Watch) -> Any:
    headers = {name: value.get_secret_value() for name, value in otlp.headers.items()}
    remember_secrets((*headers.values(), *passwords_in(otlp.url)))
    seconds = otlp.timeout_ms / 1_000
    module, name = _CLASSES[signal]
    exporter = getattr(
        importlib.import_module(f"opentelemetry.exporter.otlp.proto.{otlp.protocol}.{module}"),
        name,
    )
    if otlp.protocol == "http":
        from opentelemetry.exporter.otlp.proto.http import Compression

        return exporter(
            endpoint=f"{otlp.url}/v1/{signal}",
            headers=headers,
            timeout=seconds,
            compression=Compression(otlp.compression or "none"),
            session=_session(watch),
        )
    import grpc  # type: ignore[import-untyped]

    how = {"gzip": grpc.Compression.Gzip, "deflate": grpc.Compression.Deflate}
    return exporter(
        endpoint=otlp.url,
        insecure=otlp.url.startswith("http://"),
        headers=tuple((key.lower(), value) for key, value in headers.items()),
        timeout=seconds,
        compression=how.get(otlp.compression or "", grpc.Compression.NoCompression),
    )


def _session(watch: Watch) -> Any:
    """An HTTP session that follows no redirect: the exporter takes one for success."""
    import requests

    def look_at(response: Any, **_more: Any) -> None:
        if response.is_redirect:
            watch.failed(f"it answered {response.status_code}, a redirect, which is not followed")

    session = requests.Session()
    session.max_redirects = 0
    session.hooks["response"].append(look_at)
    return session
