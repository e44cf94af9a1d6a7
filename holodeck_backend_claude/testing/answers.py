"""What a model request may get: replies made of parts, errors, silence."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


class Step:
    """One step of a script."""


@dataclass(frozen=True)
class Answer(Step):
    """What a model request gets, so many seconds late: a reply, an error or silence."""

    before: float = field(default=0.0, kw_only=True)


@dataclass(frozen=True)
class Usage:
    """Tokens of one reply; all input is ``input + cache_read + cache_creation``."""

    input: int = 10
    output: int = 5
    cache_read: int = 0
    cache_creation: int = 0


@dataclass(frozen=True)
class Text:
    """Text of the answer, streamed in these pieces."""

    pieces: tuple[str, ...]


@dataclass(frozen=True)
class Thinking:
    """Thinking before the answer, streamed in these pieces."""

    pieces: tuple[str, ...]


@dataclass(frozen=True)
class ToolUse:
    """A tool call; ``arguments`` as a string is sent as it is, JSON or not."""

    name: str
    arguments: Mapping[str, Any] | str
    call_id: str | None = None

    @property
    def pieces(self) -> tuple[str, ...]:
        """The arguments as the model writes them."""
        if isinstance(self.arguments, str):
            return split(self.arguments)
        return split(json.dumps(self.arguments, ensure_ascii=False))


Part: TypeAlias = Text | Thinking | ToolUse


@dataclass(frozen=True)
class Failure(Answer):
    """An HTTP error instead of an answer."""

    status: int
    message: str
    error_type: str | None = None
    retry_after: float | None = None


@dataclass(frozen=True)
class Cut:
    """Where an answer breaks off; with ``error`` the server says why, else the line is dead."""

    after_pieces: int
    error: Failure | None = None


@dataclass(frozen=True)
class Hold:
    """Where an answer waits for ``gate``."""

    after_pieces: int
    gate: asyncio.Event


@dataclass(frozen=True)
class Reply(Answer):
    """One answer of the model; :func:`say`, :func:`call_tool` and :func:`reply` make it.

    Attributes:
        parts: Thinking, text and tool calls in the order of the answer.
        usage: The tokens that the answer reports.
        stop_reason: As the Messages API names it; None means ``tool_use`` for an answer with
            tool calls, otherwise ``end_turn``.
        between: Seconds after each streamed piece.
        cut: Where the answer breaks off.
        holds: Where the answer waits.
    """

    parts: tuple[Part, ...] = ()
    usage: Usage = Usage()
    stop_reason: str | None = None
    between: float = 0.0
    cut: Cut | None = None
    holds: tuple[Hold, ...] = ()

    @property
    def stopped_by(self) -> str:
        """The stop reason, derived where it was not given."""
        if self.stop_reason is not None:
            return self.stop_reason
        calls = any(isinstance(part, ToolUse) for part in self.parts)
        return "tool_use" if calls else "end_turn"

    def check_has_pieces(self, count: int) -> None:
        """Raise ValueError where the answer is not so long."""
        pieces = sum(len(part.pieces) for part in self.parts)
        if not 0 <= count <= pieces:
            raise ValueError(f"after_pieces is {count}, but the answer has {pieces} pieces")


@dataclass(frozen=True)
class Silence(Answer):
    """No answer at all, until the client leaves or the server closes."""


@dataclass(frozen=True)
class Raw(Answer):
    """A body as it is, right or wrong."""

    body: bytes
    status: int = 200
    content_type: str = "text/event-stream"


@dataclass(frozen=True)
class Reset(Answer):
    """No answer: the connection is reset."""


def split(text: str) -> tuple[str, ...]:
    """Cut a text into pieces as a model streams it: a few characters each, 32 pieces at most."""
    size = max(8, math.ceil(len(text) / 32))
    return tuple(text[start : start + size] for start in range(0, len(text), size))
