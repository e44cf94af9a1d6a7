"""One turn: the SDK's messages on the way in, typed events and an ExecutionResult on the way out.

Nothing unknown counts as success: a turn is a success only where the SDK's own result message
says so.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from claude_agent_sdk import (
    AssistantMessage,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from holodeck_backend_claude import outcomes
from holodeck_backend_claude.claude.turns.calls import Calls
from holodeck_backend_claude.claude.turns.form import Form
from holodeck_backend_claude.claude.turns.text_stream import TextStream
from holodeck_backend_claude.claude.turns.usage import NOTHING, Spent, Usage, as_contract
from holodeck_backend_claude.claude.turns.verdict import SaidByCLI, reason_of
from holodeck_backend_claude.contract import (
    ExecutionResult,
    Retrying,
    TextDelta,
    ThinkingDelta,
    TurnEvent,
)
from holodeck_backend_claude.redaction import mask_secrets

if TYPE_CHECKING:
    from holodeck_backend_claude.calls import BoundTool
    from holodeck_backend_claude.contract import JsonSchema

# Claude Code speaks for itself under this model name: error texts, never an answer.
_SYNTHETIC_MODEL = "<synthetic>"


class Turn:
    """Collects one turn.

    Args:
        tools: The tools by their full wire name; results carry the tools' own names.
        before: What the conversation had used before.
        schema: The form that the answer has to have; None leaves it free.
    """

    def __init__(
        self,
        tools: Mapping[str, BoundTool],
        *,
        before: Spent = NOTHING,
        schema: JsonSchema | None = None,
    ) -> None:
        self._form = None if schema is None else Form(schema)
        self._calls = Calls(tools)
        self._started = time.monotonic()
        self._answer: list[str] = []
        self._deltas = TextStream()
        self._has_said = False
        self._thinking: list[str] = []
        self._usage = Usage()
        self._streaming = ""  # the id of the message that comes in deltas
        self._thought: set[str] = set()
        self._denials: list[dict[str, Any]] = []
        self._model: str | None = None
        self._session_id: str | None = None
        self._answers: set[str] = set()  # ids of the model's messages
        self._said_by_cli: SaidByCLI | None = None
        self._verdict: ResultMessage | None = None
        self._before = before
        self.after = before
        self._rejected_credential = False

    @property
    def is_complete(self) -> bool:
        """True once the SDK has given its verdict."""
        return self._verdict is not None

    @property
    def to_be_stopped(self) -> tuple[str, str] | None:
        """Reason and detail, where Claude Code would go on though there is nothing to hope for."""
        if self._rejected_credential:  # it would try ten times, as if the API were busy
            return outcomes.UNAUTHENTICATED, "the API refused the credential"
        if self._form is not None and self._form.is_given_up:
            return outcomes.STRUCTURED_MISSING, "the model answered in words, again and again"
        return None

    def feed(self, message: object) -> Iterator[TurnEvent]:
        """Take one message of the SDK; yield what a reader of the turn should see of it."""
        self._session_id = getattr(message, "session_id", None) or self._session_id
        match message:
            case StreamEvent():
                yield from self._delta(message)
            case AssistantMessage():
                yield from self._assistant(message)
            case UserMessage():
                yield from self._tool_results(message)
            case SystemMessage(subtype="api_retry"):
                yield self._retry(message)
            case ResultMessage():
                self._end(message)
                yield from self._structured_delta()
            case _:
                return  # statuses, and kinds of messages that later versions bring

    # ------------------------------------------------------------------------ what comes in

    def _delta(self, message: StreamEvent) -> Iterator[TurnEvent]:
        event = message.event
        if message.parent_tool_use_id:
            return
        match event.get("type"):
            case "message_start":
                begun = event.get("message") or {}
                self._deltas.begin(str(begun.get("id")))
                self._streaming = str(begun.get("id"))
                self._usage.begin(begun.get("usage") or {})
            case "message_delta":
                self._usage.update(event.get("usage") or {})
                stopped_by = (event.get("delta") or {}).get("stop_reason")
                if self._form is not None and stopped_by == "end_turn":
                    self._form.answered_in_words()
            case "content_block_delta":
                yield from self._content_delta(event.get("delta") or {})

    def _content_delta(self, delta: Mapping[str, Any]) -> Iterator[TurnEvent]:
        match delta.get("type"):
            case "text_delta" if delta.get("text"):
                yield from self._say(self._deltas.add(delta["text"]))
            case "thinking_delta" if delta.get("thinking"):
                self._thought.add(self._streaming)
                yield ThinkingDelta(delta["thinking"])

    def _assistant(self, message: AssistantMessage) -> Iterator[TurnEvent]:
        if message.model == _SYNTHETIC_MODEL:
            self._said_by_cli = SaidByCLI(_text(message.content), message.error)
            return
        parent = message.parent_tool_use_id
        if parent is None:
            self._model = message.model
            if self._form is not None and message.message_id not in self._answers:
                self._answer.clear()  # the model was asked again: this is another answer
            self._answers.add(message.message_id or str(len(self._answers)))
        for block in message.content:
            match block:
                case ToolUseBlock() if self._form is not None and self._form.takes_call(block):
                    continue
                case ToolUseBlock():
                    yield self._calls.start(block, parent)
                case TextBlock(text=text) if parent is None:
                    self._answer.append(text)
                    yield from self._say(self._deltas.complete(message.message_id, text))
                case ThinkingBlock(thinking=thinking) if parent is None:
                    self._thinking.append(thinking)
                    if thinking and message.message_id not in self._thought:
                        yield ThinkingDelta(thinking)
                case _:
                    continue

    def _tool_results(self, message: UserMessage) -> Iterator[TurnEvent]:
        if isinstance(message.content, str):
            return
        for block in message.content:
            if not isinstance(block, ToolResultBlock):
                continue
            if message.parent_tool_use_id is None:
                self._answer.clear()  # what was said before a tool call is not the answer
            if self._form is not None and self._form.takes_result(block):
                continue
            yield self._calls.end(block)

    def _retry(self, message: SystemMessage) -> Retrying:
        status = message.data.get("error_status")
        self._rejected_credential = status in (401, 403)
        return Retrying(
            attempt=int(message.data.get("attempt") or 0),
            reason=outcomes.provider_error(status or str(message.data.get("error"))),
            delay_seconds=float(message.data.get("retry_delay_ms") or 0) / 1_000,
        )

    def _end(self, message: ResultMessage) -> None:
        self._verdict = message
        self.after = self._before.by(message)
        self._denials = self._calls.denied(message.permission_denials or ())

    def _say(self, text: str) -> Iterator[TextDelta]:
        if text:
            self._has_said = True
            yield TextDelta(text)

    def _structured_delta(self) -> Iterator[TextDelta]:
        """A structured answer that came as a call, for those who read the text."""
        if self._form is not None and self._form.came_as_call:
            result = self.result()
            if not result.is_error:
                yield TextDelta(f"\n\n{result.response}" if self._has_said else result.response)

    # ------------------------------------------------------------------------ what goes out

    def result(
        self, *, stopped_by: str | None = None, detail: str | None = None
    ) -> ExecutionResult:
        """The turn's result.

        Args:
            stopped_by: The reason why the turn was ended from our side, if it was.
            detail: What is known about that reason.
        """
        result = ExecutionResult(
            response="".join(self._answer) + self._deltas.unfinished,
            tool_calls=self._calls.calls,
            tool_results=self._calls.results,
            token_usage=self._token_usage(),
            num_turns=len(self._answers) or self._usage.messages,
            cost_usd=self._cost(),
            session_id=self._session_id,
            thinking="".join(self._thinking) or None,
            duration_ms=round((time.monotonic() - self._started) * 1_000),
            permission_denials=self._denials,
            model=self._model,
        )
        if stopped_by is not None:
            return outcomes.failed(result, stopped_by, mask_secrets(detail) if detail else None)
        reason = reason_of(self._verdict, self._said_by_cli)
        if self._form is not None:
            reason = self._form.reason(self._verdict, reason)
        if reason is None:
            return result if self._form is None else self._form.hold(result, self._verdict)
        errors = "; ".join(getattr(self._verdict, "errors", None) or ())
        said: str | None = self._said_by_cli.text if self._said_by_cli else errors
        said = said or getattr(self._verdict, "result", None)
        return outcomes.failed(result, reason, mask_secrets(said) if said else None)

    def _token_usage(self) -> dict[str, int]:
        spent = self.after.since(self._before)
        if self._calls.had_subagents and any(spent.tokens.values()):
            return as_contract(spent.tokens)  # the verdict's own usage is the agent's alone
        if self._verdict is not None and self._verdict.usage:
            return as_contract(self._verdict.usage)
        return as_contract(self._usage.total())

    def _cost(self) -> float | None:
        if self._verdict is None or self._verdict.total_cost_usd is None:
            return None
        return self.after.since(self._before).cost_usd


def is_of_turn(message: object) -> bool:
    """Whether the process has begun to work on what it was asked; its first message says so."""
    return not isinstance(message, SystemMessage) or message.subtype == "init"


def _text(blocks: Sequence[object]) -> str:
    return "".join(block.text for block in blocks if isinstance(block, TextBlock))
