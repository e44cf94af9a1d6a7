"""``observability:`` in agent.yaml: what is traced, measured and logged, and where it goes."""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from holodeck_backend_claude.config.base import Flag, NonBlank, Number, Strict, Whole

_USE_A_COLLECTOR = "send to an OpenTelemetry Collector with exporters.otlp, which can pass it on"


class TracesConfig(Strict):
    """``traces:`` spans of turns, model requests and tool calls.

    Attributes:
        enabled: Whether there are spans.
        sample_rate: The share of turns that are traced, 0.0 to 1.0.
        capture_content: Put messages, tool arguments and tool results into the spans.
        capture_evaluation_content: HoloDeck's own; named once as without effect.
        redaction_patterns: Regular expressions; what matches is masked in captured content.
        max_queue_size: Spans that wait to be sent at most; further ones are dropped.
        max_export_batch_size: Spans of one request to the collector at most.
        schedule_delay_millis: Milliseconds between two requests to the collector.
    """

    enabled: Flag = True
    sample_rate: Number = Field(default=1.0, ge=0, le=1)
    capture_content: Flag = False
    capture_evaluation_content: Flag = False
    redaction_patterns: tuple[NonBlank, ...] = ()
    max_queue_size: Whole = Field(default=2_048, ge=1)
    max_export_batch_size: Whole = Field(default=512, ge=1)
    schedule_delay_millis: Whole = Field(default=2_000, ge=100)

    @field_validator("redaction_patterns")
    @classmethod
    def _compile(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as cause:
                raise ValueError(f"{pattern!r} is no regular expression: {cause}") from cause
        return patterns

    @model_validator(mode="after")
    def _batch_fits_queue(self) -> TracesConfig:
        if self.max_export_batch_size > self.max_queue_size:
            raise ValueError(
                f"max_export_batch_size ({self.max_export_batch_size}) is larger than "
                f"max_queue_size ({self.max_queue_size})"
            )
        return self


class MetricsConfig(Strict):
    """``metrics:`` tokens and durations.

    Attributes:
        enabled: Whether there are metrics.
        export_interval_ms: Milliseconds between two requests to the collector.
    """

    enabled: Flag = True
    export_interval_ms: Whole = Field(default=5_000, ge=1_000)


class LogsConfig(Strict):
    """``logs:`` records of Python's ``logging``.

    Attributes:
        enabled: Whether they are sent.
        level: The lowest level that is sent.
        include_trace_context: Whether a record names the span in which it was written.
        filter_namespaces: Loggers whose records are sent, with those below them.
    """

    enabled: Flag = True
    level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = "INFO"
    include_trace_context: Flag = True
    filter_namespaces: tuple[NonBlank, ...] = ("holodeck_backend_claude", "semantic_kernel")


class ConsoleExporterConfig(Strict):
    """``console:`` writes JSON to stderr.

    Attributes:
        enabled: Whether it is used.
        pretty_print: Indent it; otherwise one line per item.
        include_timestamps: Whether times are in it.
    """

    enabled: Flag = True
    pretty_print: Flag = True
    include_timestamps: Flag = True


_SIGNAL_PATHS = ("/v1/traces", "/v1/metrics", "/v1/logs")


class OTLPExporterConfig(Strict):
    """``otlp:`` sends to a collector.

    Attributes:
        enabled: Whether it is used.
        endpoint: Base URL of the collector; None means its usual port on this machine.
        protocol: ``grpc`` (usually port 4317) or ``http`` (usually port 4318).
        headers: Sent with each request, e.g. for authentication; secret.
        timeout_ms: Milliseconds one request may take.
        compression: How requests are compressed; None means not at all.
        insecure: For an endpoint without ``http://`` or ``https://``: whether it has no TLS.
    """

    enabled: Flag = True
    endpoint: NonBlank | None = None
    protocol: Literal["grpc", "http"] = "grpc"
    headers: dict[NonBlank, SecretStr] = Field(default_factory=dict)
    timeout_ms: Whole = Field(default=30_000, ge=1_000)
    compression: Literal["gzip", "deflate"] | None = None
    insecure: Flag = True

    @model_validator(mode="after")
    def _one_word_on_tls(self) -> OTLPExporterConfig:
        scheme = _scheme(self.endpoint or "")
        if scheme not in ("", "http", "https"):
            raise ValueError(f"endpoint begins with {scheme}://; use http:// or https://")
        said = "insecure" in self.model_fields_set
        if said and scheme and self.insecure == (scheme == "https"):
            raise ValueError(
                f"endpoint begins with {scheme}:// and insecure is {str(self.insecure).lower()}; "
                "remove 'insecure': the endpoint decides"
            )
        return self

    @model_validator(mode="after")
    def _names_no_signal(self) -> OTLPExporterConfig:
        path = urlsplit(self.url).path.rstrip("/")
        if path.endswith(_SIGNAL_PATHS):
            signal = path[path.rindex("/v1/") :]
            raise ValueError(
                f"endpoint is the base of the collector: leave out '{signal}', which is added for "
                "each signal"
            )
        return self

    @property
    def url(self) -> str:
        """The endpoint with its scheme, without a slash at the end."""
        usual = "localhost:4318" if self.protocol == "http" else "localhost:4317"
        endpoint = (self.endpoint or usual).rstrip("/")
        if _scheme(endpoint):
            return endpoint
        return f"{'http' if self.insecure else 'https'}://{endpoint}"


def _scheme(endpoint: str) -> str:
    return urlsplit(endpoint).scheme.lower() if "://" in endpoint else ""


class PrometheusExporterConfig(Strict):
    """``prometheus:`` is HoloDeck's own; only a block that is off is accepted.

    Attributes:
        enabled: Has to be false.
        port: Without effect.
        host: Without effect.
        path: Without effect.
    """

    enabled: Flag = False
    port: Whole = 8_889
    host: NonBlank = "0.0.0.0"  # noqa: S104  nothing is bound to it
    path: NonBlank = "/metrics"

    @field_validator("enabled")
    @classmethod
    def _is_off(cls, enabled: bool) -> bool:
        if enabled:
            raise ValueError(f"there is no Prometheus endpoint here; {_USE_A_COLLECTOR}")
        return enabled


class AzureMonitorExporterConfig(Strict):
    """``azure_monitor:`` is HoloDeck's own; only a block that is off is accepted.

    Attributes:
        enabled: Has to be false.
        connection_string: Without effect.
        disable_offline_storage: Without effect.
        storage_directory: Without effect.
    """

    enabled: Flag = False
    connection_string: SecretStr | None = None
    disable_offline_storage: Flag = False
    storage_directory: NonBlank | None = None

    @field_validator("enabled")
    @classmethod
    def _is_off(cls, enabled: bool) -> bool:
        if enabled:
            raise ValueError(f"nothing here sends to Azure Monitor itself; {_USE_A_COLLECTOR}")
        return enabled


class ExportersConfig(Strict):
    """``exporters:`` where it goes; to the console where none is enabled.

    Attributes:
        console: JSON on stderr.
        otlp: A collector.
        prometheus: Refused where it is enabled.
        azure_monitor: Refused where it is enabled.
    """

    console: ConsoleExporterConfig | None = None
    otlp: OTLPExporterConfig | None = None
    prometheus: PrometheusExporterConfig | None = None
    azure_monitor: AzureMonitorExporterConfig | None = None

    @property
    def to_collector(self) -> OTLPExporterConfig | None:
        """The collector, if there is one to send to."""
        return self.otlp if self.otlp and self.otlp.enabled else None

    @property
    def to_console(self) -> ConsoleExporterConfig | None:
        """How to write to the console, if at all."""
        if self.console is not None:
            return self.console if self.console.enabled else None
        return None if self.to_collector else ConsoleExporterConfig()


class ObservabilityConfig(Strict):
    """The ``observability:`` block.

    Attributes:
        enabled: Off unless asked for; then nothing of OpenTelemetry is loaded.
        disable_provider_tracing: For another backend of HoloDeck; named once as without effect.
        service_name: What the traces call this program; None means ``holodeck-<agent name>``.
        traces: Spans.
        metrics: Tokens and durations.
        logs: Log records.
        exporters: Where it goes.
        resource_attributes: Further facts about this program, on everything that is sent.
    """

    enabled: Flag = False
    disable_provider_tracing: Flag = False
    service_name: NonBlank | None = None
    traces: TracesConfig = TracesConfig()
    metrics: MetricsConfig = MetricsConfig()
    logs: LogsConfig = LogsConfig()
    exporters: ExportersConfig = ExportersConfig()
    resource_attributes: dict[NonBlank, str] = Field(default_factory=dict)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """The keys that were set and change nothing on any backend of this package."""
        said = {
            "disable_provider_tracing": self.disable_provider_tracing,
            "traces.capture_evaluation_content": self.traces.capture_evaluation_content,
        }
        return tuple(f"observability.{key}" for key, on in said.items() if on)
