"""What happens in a turn, piece by piece."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from holodeck_backend_claude.contract.results import ExecutionResult


@dataclass(frozen=True)
class TextDelta:
    """A piece of the answer, as the model writes it."""

    text: str


@dataclass(frozen=True)
class ThinkingDelta:
    """A piece of the model's thinking."""

    text: str


@dataclass(frozen=True)
class ToolStart:
    """The model called a tool; ``parent_call_id`` is the call that runs the subagent, if any."""

    call_id: str
    name: str
    arguments: dict[str, Any]
    parent_call_id: str | None = None


@dataclass(frozen=True)
class ToolEnd:
    """A tool call ended, with the text the model got; ``parent_call_id`` as in ToolStart."""

    call_id: str
    name: str
    result: str
    is_error: bool
    parent_call_id: str | None = None


@dataclass(frozen=True)
class Retrying:
    """The provider refused a request and it will be sent again after ``delay_seconds``."""

    attempt: int
    reason: str
    delay_seconds: float


@dataclass(frozen=True)
class TurnEnd:
    """The last event of a turn."""

    result: ExecutionResult


TurnEvent: TypeAlias = TextDelta | ThinkingDelta | ToolStart | ToolEnd | Retrying | TurnEnd
