"""Tracing is started where agent.yaml asks for it; otherwise nothing of it is loaded."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import TYPE_CHECKING

from holodeck_backend_claude.contract import BackendInitError
from holodeck_backend_claude.tracing.turn import NO_TRACE, TurnTrace

if TYPE_CHECKING:
    from holodeck_backend_claude.config import Agent

log = logging.getLogger(__name__)


class Tracing:
    """The tracing of one agent's backend. This one traces nothing."""

    def turn(
        self,
        message: str,
        *,
        system_prompt: str = "",
        conversation_id: str | None = None,
        tools: Collection[str] = (),
    ) -> TurnTrace:
        """The trace of a turn, below the span that is current here.

        Args:
            message: What the user says.
            system_prompt: What the model is told beside it.
            conversation_id: The conversation, where it is known by now.
            tools: The tools of this process; others run elsewhere.
        """
        del message, system_prompt, conversation_id, tools
        return NO_TRACE

    async def close(self) -> None:
        """Send what is left and end, in bounded time; may be called twice."""


NO_TRACING = Tracing()


def start_tracing(agent: Agent, *, provider: str) -> Tracing:
    """Start to trace an agent, if its ``observability:`` says so.

    Args:
        agent: The agent.
        provider: Who serves the model, by the name that the conventions have for it.

    Raises:
        BackendInitError: What sends the traces is not installed.
    """
    wanted = agent.observability
    if wanted is None or not wanted.enabled:
        return NO_TRACING
    for key in wanted.without_effect:
        log.warning("%s has no effect here; remove it from agent.yaml", key)
    try:
        from holodeck_backend_claude.tracing.open import OpenTracing

        return OpenTracing(agent, wanted, provider=provider)
    except ModuleNotFoundError as cause:
        if not (cause.name or "").startswith(("opentelemetry", "grpc", "requests")):
            raise
        raise BackendInitError(
            f"observability needs {cause.name}, which is not installed; install it with "
            "pip install 'holodeck-backend-claude[otel]', or remove the block"
        ) from cause
