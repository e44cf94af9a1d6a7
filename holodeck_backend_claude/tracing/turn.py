"""What a turn tells about itself while it runs; where nothing is traced, it tells nobody.

Imports nothing of OpenTelemetry: this is all that a backend without observability ever loads.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from holodeck_backend_claude.contract import TurnEvent


@dataclass(frozen=True)
class TracedAnswer:
    """One answer of the model, or one request that got none.

    Attributes:
        parent_call_id: The tool call whose subagent asked; None for the agent itself.
        model: The model that answered, as the provider names it.
        answer_id: The provider's id of the answer.
        finish_reason: Why the answer ended, in the provider's word.
        input_tokens: All input, cached input included; None where it is not known.
        output_tokens: None where it is not known.
        cache_read: The part of the input that came from a cache.
        cache_creation: The part of the input that was put into one.
        parts: The answer, as the conventions write its parts.
        error: What went wrong, in one word; None where nothing did.
        ended: When it was complete, in nanoseconds since the epoch; None means now.
    """

    parent_call_id: str | None = None
    model: str | None = None
    answer_id: str | None = None
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read: int | None = None
    cache_creation: int | None = None
    parts: tuple[Mapping[str, Any], ...] = ()
    error: str | None = None
    ended: int | None = None


class TurnTrace:
    """The trace of one turn. This one keeps nothing.

    Attributes:
        is_on: Whether anything is kept; what costs something to find out is told only then.
        conversation_id: The conversation, as soon as it is known.
    """

    is_on = False
    conversation_id: str | None = None

    def begin(self) -> None:
        """The turn begins; a second time changes nothing."""

    def asked(self) -> None:
        """The message is on its way: from now on it is the model that is waited for."""

    def event(self, event: TurnEvent) -> None:
        """What a reader of the turn sees: the calls of tools, retries, and the end."""

    def answer(self, answer: TracedAnswer) -> None:
        """The model answered; the request began when the turn had last nothing else to do."""

    def task_started(self, call_id: str) -> None:
        """The tool call runs a subagent."""

    def task_ended(self, call_id: str) -> None:
        """The subagent that a tool call started has ended."""

    @asynccontextmanager
    async def running(
        self, name: str, arguments: Mapping[str, Any], call_id: str | None
    ) -> AsyncIterator[None]:
        """While a tool of this process runs its call.

        Args:
            name: The tool.
            arguments: As the model sent them; they tell which call it is, where the id does not.
            call_id: The model's id of the call, where it is known.
        """
        del name, arguments, call_id
        yield

    def environment(self) -> Mapping[str, str]:
        """The variables that make the traces of a process part of this one."""
        return {}

    def reporting(self, report: Callable[[TurnEvent], None]) -> Callable[[TurnEvent], None]:
        """The same report, which is told to the trace too."""
        return report


NO_TRACE = TurnTrace()
