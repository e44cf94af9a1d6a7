"""The tracing of one agent, with OpenTelemetry."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from opentelemetry.metrics import Meter
from opentelemetry.trace import Tracer

from holodeck_backend_claude.tracing import names
from holodeck_backend_claude.tracing.content import Content
from holodeck_backend_claude.tracing.instruments import Instruments
from holodeck_backend_claude.tracing.logs import LogExport
from holodeck_backend_claude.tracing.providers import Providers
from holodeck_backend_claude.tracing.spans import SpanTrace
from holodeck_backend_claude.tracing.start import Tracing
from holodeck_backend_claude.tracing.turn import TurnTrace

if TYPE_CHECKING:
    from holodeck_backend_claude.config import Agent, ObservabilityConfig


class OpenTracing(Tracing):
    """See :class:`Tracing`.

    Args:
        agent: The agent.
        config: Its ``observability:``.
        provider: Who serves the model, by the name that the conventions have for it.
    """

    def __init__(self, agent: Agent, config: ObservabilityConfig, *, provider: str) -> None:
        traces = config.traces
        self._providers = Providers(config, f"holodeck-{agent.name}")
        tracer: Tracer = self._providers.tracers.get_tracer(names.SCOPE)
        meter: Meter = self._providers.meters.get_meter(names.SCOPE)
        self._instruments = Instruments.of(
            agent,
            tracer=tracer,
            meter=meter,
            content=Content(captured=traces.capture_content, patterns=traces.redaction_patterns),
            provider=provider,
        )
        self._logs: LogExport | None = None
        if self._providers.loggers is not None:
            masking = Content(captured=True, patterns=traces.redaction_patterns)
            self._logs = LogExport(self._providers.loggers, config.logs, masking)
            self._logs.open()

    def turn(
        self,
        message: str,
        *,
        system_prompt: str = "",
        conversation_id: str | None = None,
        tools: Collection[str] = (),
    ) -> TurnTrace:
        """The trace of a turn, below the span that is current here."""
        return SpanTrace(
            self._instruments,
            message=message,
            system_prompt=system_prompt,
            conversation_id=conversation_id,
            tools=tools,
        )

    async def close(self) -> None:
        """Send what is left and end, in bounded time; may be called twice."""
        logs, self._logs = self._logs, None
        if logs is not None:
            logs.close()
        await self._providers.close()
