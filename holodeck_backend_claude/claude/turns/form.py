"""The form that the answer of a turn has to have, as Claude Code brings it about.

Claude Code lets the model give its answer as a call of a tool of its own, which is no tool of the
agent: it is in no list of calls. Where the model answers in words, a newer Claude Code asks it
once more for the call, an older one asks without end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holodeck_backend_claude import outcomes
from holodeck_backend_claude.claude.response_format import STRUCTURED_OUTPUT_TOOL
from holodeck_backend_claude.structured_output import hold_against

if TYPE_CHECKING:
    from claude_agent_sdk import ResultMessage, ToolResultBlock, ToolUseBlock

    from holodeck_backend_claude.contract import ExecutionResult, JsonSchema

_OUT_OF_TRIES = "error_max_structured_output_retries"
_MOST_ANSWERS_IN_WORDS = 3


class Form:
    """What one turn has of its structured answer so far.

    Args:
        schema: The form.
    """

    def __init__(self, schema: JsonSchema) -> None:
        self._schema = schema
        self._tried: dict[str, object] = {}
        self._accepted: object = None
        self._refused_because: str | None = None
        self._answers_in_words = 0

    def takes_call(self, block: ToolUseBlock) -> bool:
        """Whether a call is the model's answer, which is noted, and not a tool of the agent."""
        if block.name != STRUCTURED_OUTPUT_TOOL:
            return False
        self._tried[block.id] = block.input
        return True

    def takes_result(self, block: ToolResultBlock) -> bool:
        """Whether a result is Claude Code's word on such an answer, which is noted."""
        if block.tool_use_id not in self._tried:
            return False
        if block.is_error:
            content = block.content
            parts = content if isinstance(content, list) else [{"text": content}]
            self._refused_because = " ".join(str(part.get("text") or "") for part in parts)
        else:
            self._accepted = self._tried[block.tool_use_id]
        return True

    def answered_in_words(self) -> None:
        """The model ended an answer without a call."""
        if self._accepted is None:
            self._answers_in_words += 1

    @property
    def is_given_up(self) -> bool:
        """Whether the model has been asked often enough."""
        return self._answers_in_words >= _MOST_ANSWERS_IN_WORDS

    @property
    def came_as_call(self) -> bool:
        """Whether the answer is in no text of the model's."""
        return self._accepted is not None

    def reason(self, verdict: ResultMessage | None, reason: str | None) -> str | None:
        """Why the turn failed, where the verdict is about the form; else the reason as it is."""
        if verdict is not None and verdict.subtype == _OUT_OF_TRIES:
            errors = "; ".join(getattr(verdict, "errors", None) or ())
            return outcomes.structured_invalid(self._refused_because or errors)
        if reason == outcomes.TURN_LIMIT and self._accepted is not None:
            return None  # the answer was there; an older Claude Code asks for some last words
        return reason

    def hold(self, result: ExecutionResult, verdict: ResultMessage | None) -> ExecutionResult:
        """The result of a turn that ended as it should, with its structured answer."""
        given = getattr(verdict, "structured_output", None)
        return hold_against(result, self._schema, self._accepted if given is None else given)
