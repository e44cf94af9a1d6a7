"""The providers of traces, metrics and logs: those of the program, or ones of our own.

A program that has set up OpenTelemetry has decided where its telemetry goes: then its provider is
used, and it is the program that ends it. Otherwise there is one of our own, which is nobody
else's: it is never made the provider of the whole program.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from opentelemetry import _logs, metrics, trace

from holodeck_backend_claude.config.observability import ObservabilityConfig
from holodeck_backend_claude.redaction import mask_known_secrets
from holodeck_backend_claude.tracing.exporters import exporters_of
from holodeck_backend_claude.tracing.watching import Watch

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource

log = logging.getLogger(__name__)

CLOSE_SECONDS = 5.0
"""How long the last of the telemetry may take to be sent."""


class Providers:
    """What traces, metrics and logs of one agent are made with; each may be switched off.

    Args:
        config: The agent's ``observability:``.
        service_name: What the telemetry calls this program, where the block does not say it.

    Attributes:
        tracers: The provider of tracers.
        meters: The provider of meters.
        loggers: The provider of loggers; None where logs are off.
    """

    def __init__(self, config: ObservabilityConfig, service_name: str) -> None:
        from opentelemetry.sdk.resources import Resource

        otlp = config.exporters.to_collector
        self._config = config
        self._watch = Watch(mask_known_secrets(otlp.url) if otlp else "stderr")
        self._resource: Resource = Resource.create(
            {"service.name": config.service_name or service_name, **config.resource_attributes}
        )
        self._ends: list[Callable[[], object]] = []
        self._borrowed: list[str] = []
        self.tracers = self._tracers()
        self.meters = self._meters()
        self.loggers = self._loggers()
        if self._borrowed:
            log.info(
                "the OpenTelemetry setup of this program is used for %s; there, "
                "observability.exporters of agent.yaml is not",
                " and ".join(self._borrowed),
            )

    async def close(self) -> None:
        """Send what is left and end, in bounded time; may be called twice."""
        ends, self._ends = self._ends, []
        if not ends:
            return

        def end_all() -> None:
            self._watch.closing()
            for end in ends:
                end()

        if not await _finished(end_all, seconds=CLOSE_SECONDS):
            self._watch.failed(f"the last were not taken within {CLOSE_SECONDS:g} s")

    # ---------------------------------------------------------------------------- the signals

    def _tracers(self) -> trace.TracerProvider:
        if not self._config.traces.enabled:
            return trace.NoOpTracerProvider()
        if (of_program := self._of_program("traces", trace.get_tracer_provider())) is not None:
            return of_program  # type: ignore[no-any-return]
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio

        wanted = self._config.traces
        provider = TracerProvider(
            sampler=ParentBasedTraceIdRatio(wanted.sample_rate),
            resource=self._resource,
            shutdown_on_exit=False,
        )
        for exporter in exporters_of(self._config.exporters, "traces", self._watch):
            provider.add_span_processor(
                BatchSpanProcessor(
                    exporter,
                    max_queue_size=wanted.max_queue_size,
                    max_export_batch_size=wanted.max_export_batch_size,
                    schedule_delay_millis=wanted.schedule_delay_millis,
                )
            )
        self._ends.append(provider.shutdown)
        return provider

    def _meters(self) -> metrics.MeterProvider:
        if not self._config.metrics.enabled:
            return metrics.NoOpMeterProvider()
        if (of_program := self._of_program("metrics", metrics.get_meter_provider())) is not None:
            return of_program  # type: ignore[no-any-return]
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

        provider = MeterProvider(
            metric_readers=[
                PeriodicExportingMetricReader(
                    exporter,
                    export_interval_millis=self._config.metrics.export_interval_ms,
                    export_timeout_millis=CLOSE_SECONDS * 1_000,
                )
                for exporter in exporters_of(self._config.exporters, "metrics", self._watch)
            ],
            resource=self._resource,
            shutdown_on_exit=False,
        )
        self._ends.append(provider.shutdown)
        return provider

    def _loggers(self) -> _logs.LoggerProvider | None:
        if not self._config.logs.enabled:
            return None
        if (of_program := self._of_program("logs", _logs.get_logger_provider())) is not None:
            return of_program  # type: ignore[no-any-return]
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

        provider = LoggerProvider(resource=self._resource, shutdown_on_exit=False)
        for exporter in exporters_of(self._config.exporters, "logs", self._watch):
            provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
        self._ends.append(provider.shutdown)
        return provider

    def _of_program(self, signal: str, provider: Any) -> Any | None:
        """The program's provider, where it has set one: not a placeholder of the API package."""
        home = type(provider).__module__.split(".")
        if home[0] == "opentelemetry" and home[1] != "sdk":
            return None
        self._borrowed.append(signal)
        return provider


async def _finished(work: Callable[[], None], *, seconds: float) -> bool:
    """Whether work in a thread has ended in time; if not, it goes on and delays no exit."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def run() -> None:
        try:
            work()
        finally:
            with suppress(RuntimeError):  # the loop may be gone by then
                loop.call_soon_threadsafe(done.set)

    threading.Thread(target=run, name="holodeck-telemetry-end", daemon=True).start()
    try:
        async with asyncio.timeout(seconds):
            await done.wait()
    except TimeoutError:
        return False
    return True
