"""One turn as it goes on: what the model answered, which tools it called, and how it ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from holodeck_backend_claude import outcomes
from holodeck_backend_claude.consent import Consent, TurnClock
from holodeck_backend_claude.contract import (
    ExecutionResult,
    InputFile,
    JsonSchema,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolEnd,
    ToolStart,
    TurnEnd,
    TurnEvent,
)
from holodeck_backend_claude.sk.answers import AnswerPiece, CalledTool, ModelAnswer, Tokens
from holodeck_backend_claude.sk.traced import traced
from holodeck_backend_claude.structured_output import hold_against
from holodeck_backend_claude.tracing import NO_TRACE, TurnTrace


class TurnFailedError(Exception):
    """A turn that did not end as it should.

    Attributes:
        reason: What ``ExecutionResult.error_reason`` says.
        detail: What the provider or tool said, secrets masked; may be empty.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class Turn:
    """The record of one turn, which also reports it as events.

    Attributes:
        message: What the user said.
        files: What went along with it.
        session_id: The conversation.
        answers: The answers of the model, in their order.
        ended: The result, once there is one.
    """

    def __init__(  # noqa: PLR0913  # all of them are what a turn consists of
        self,
        message: str,
        *,
        session_id: str,
        files: Sequence[InputFile] = (),
        max_turns: int | None = None,
        schema: JsonSchema | None = None,
        report: Callable[[TurnEvent], None] = lambda _event: None,
        trace: TurnTrace = NO_TRACE,
        consent: Consent | None = None,
    ) -> None:
        self.message = message
        self.files = files
        self.session_id = session_id
        self.answers: list[ModelAnswer] = []
        self.ended: ExecutionResult | None = None
        self._max_turns = max_turns
        self._schema = schema
        self.trace = trace
        self.consent = consent or Consent()
        self.clock = TurnClock()
        self._denials: list[dict[str, Any]] = []
        self._report = trace.reporting(report)
        self._finished_calls: list[CalledTool] = []
        self._fatal: TurnFailedError | None = None
        self._started = time.monotonic()

    def begin(self) -> None:
        """The turn's own time starts now; it may have waited for another one."""
        self._started = time.monotonic()
        self.trace.begin()

    # ------------------------------------------------------------------------------- the model

    def request_begins(self) -> None:
        """The model is about to be asked.

        Raises:
            TurnFailedError: A tool that ends the run failed, or the turn limit is reached.
        """
        if self._fatal is not None:
            raise self._fatal
        if self._max_turns is not None and len(self.answers) >= self._max_turns:
            raise TurnFailedError(outcomes.TURN_LIMIT)
        self.answers.append(ModelAnswer())

    def retrying(self, attempt: int, reason: str, delay_seconds: float) -> None:
        """The request was refused and will be sent again."""
        self._report(Retrying(attempt, reason, delay_seconds))

    def piece_arrives(self, piece: AnswerPiece) -> None:
        """A chunk of the current answer is there."""
        answer = self.answers[-1]
        answer.add(piece)
        if piece.thinking:
            self._report(ThinkingDelta(piece.thinking))
        if piece.text:
            self._report(TextDelta(piece.text))

    def answer_ends(
        self, calls: Sequence[tuple[str, str, str]] = (), *, failed_by: str | None = None
    ) -> None:
        """The current answer is complete, or no more of it comes.

        Args:
            calls: Id, name and arguments of the tool calls in it.
            failed_by: Why no more of it comes.
        """
        if self.trace.is_on and self.answers and not self.answers[-1].traced:
            self.answers[-1].traced = True
            self.trace.answer(traced(self.answers[-1], calls, failed_by=failed_by))

    # ------------------------------------------------------------------------------- the tools

    def call_begins(
        self, call_id: str | None, *, wire_name: str, name: str, raw: str, arguments: dict[str, Any]
    ) -> CalledTool:
        """The model called a tool; servers that give no call id get one made."""
        made = call_id or f"call_{uuid4().hex}"
        call = CalledTool(made, name, wire_name, raw, arguments)
        self.answers[-1].calls.append(call)
        self._report(ToolStart(call.call_id, name, arguments))
        return call

    def call_ends(
        self, call: CalledTool, text: str, *, is_error: bool, ends_run: str | None = None
    ) -> None:
        """A tool call came to its end, with the text that the model gets.

        Args:
            call: The call.
            text: What the model gets.
            is_error: Whether it failed.
            ends_run: The reason, where its failure ends the run.
        """
        call.result, call.is_error = text, is_error
        self._finished_calls.append(call)
        if ends_run and self._fatal is None:
            self._fatal = TurnFailedError(ends_run, text)
        self._report(ToolEnd(call.call_id, call.name, text, is_error))

    def call_is_denied(self, call: CalledTool, reason: str) -> None:
        """Nobody agreed to a call, so that it was not made."""
        self._denials.append(
            {
                "name": call.name,
                "arguments": call.arguments,
                "call_id": call.call_id,
                "reason": reason,
            }
        )

    # --------------------------------------------------------------------------------- the end

    def end(self, failure: TurnFailedError | None = None) -> None:
        """The turn is over; only the first end counts."""
        if self.ended is not None:
            return
        if failure is None and self.answers and self.answers[-1].refused:
            failure = TurnFailedError(outcomes.REFUSED)
        if failure is not None:
            self.answer_ends(failed_by=failure.reason)
        result = self._result()
        if failure is None and self._schema is not None:
            result = hold_against(result, self._schema)
        if failure is not None:
            result = outcomes.failed(result, failure.reason, failure.detail or None)
        self.ended = result
        self._report(TurnEnd(result))

    def _result(self) -> ExecutionResult:
        calls = [call for answer in self.answers for call in answer.calls]
        models = [answer.model for answer in self.answers if answer.model]
        return ExecutionResult(
            response=self._response(),
            tool_calls=[
                {"name": c.name, "arguments": c.arguments, "call_id": c.call_id} for c in calls
            ],
            tool_results=[
                {"call_id": c.call_id, "result": c.result, "is_error": c.is_error}
                for c in self._finished_calls
            ],
            token_usage=self._usage(),
            num_turns=sum(answer.arrived for answer in self.answers),
            session_id=self.session_id,
            thinking="".join(answer.thinking for answer in self.answers) or None,
            duration_ms=round((time.monotonic() - self._started) * 1000),
            permission_denials=list(self._denials),
            model=models[-1] if models else None,
        )

    def _response(self) -> str:
        """The final answer, or what there is of it; what was said before a tool call is none."""
        last = self.answers[-1] if self.answers else ModelAnswer()
        return "" if last.calls else last.text

    def _usage(self) -> dict[str, int]:
        spent = [answer.tokens or Tokens() for answer in self.answers]
        read, written = sum(t.input for t in spent), sum(t.output for t in spent)
        usage = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
        cached = [t.cache_read for t in spent if t.cache_read is not None]
        if cached:
            usage["cache_read_input_tokens"] = sum(cached)
        return usage
