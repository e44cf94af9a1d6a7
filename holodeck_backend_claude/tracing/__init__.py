"""Traces, metrics and logs of an agent's turns, by the OpenTelemetry conventions for GenAI.

The front door: ``start_tracing`` when a backend starts, ``turn`` for each turn, ``close`` at its
end. OpenTelemetry itself is imported only where agent.yaml asks for it.
"""

from __future__ import annotations

from holodeck_backend_claude.tracing.content import call_part, text_part
from holodeck_backend_claude.tracing.names import error_type
from holodeck_backend_claude.tracing.start import NO_TRACING, Tracing, start_tracing
from holodeck_backend_claude.tracing.turn import NO_TRACE, TracedAnswer, TurnTrace

__all__ = [
    "NO_TRACE",
    "NO_TRACING",
    "TracedAnswer",
    "Tracing",
    "TurnTrace",
    "call_part",
    "error_type",
    "start_tracing",
    "text_part",
]
