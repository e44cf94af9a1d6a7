"""What the model answered: the chunks, the whole answer, and the tool calls in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Tokens:
    """The tokens of one model answer, as the provider counts them."""

    input: int = 0
    output: int = 0
    cache_read: int | None = None


@dataclass(frozen=True)
class AnswerPiece:
    """What one chunk of a streamed answer says."""

    text: str = ""
    thinking: str = ""
    refused: bool = False
    finished: bool = False
    finish_reason: str | None = None
    answer_id: str | None = None
    model: str | None = None
    tokens: Tokens | None = None


@dataclass
class CalledTool:
    """One tool call; ``result`` is None as long as it runs."""

    call_id: str
    name: str
    wire_name: str
    raw_arguments: str
    arguments: dict[str, Any]
    result: str | None = None
    is_error: bool = False


@dataclass
class ModelAnswer:
    """One answer of the model, and the tool calls in it."""

    text: str = ""
    thinking: str = ""
    calls: list[CalledTool] = field(default_factory=list)
    arrived: bool = False
    finished: bool = False
    refused: bool = False
    finish_reason: str | None = None
    answer_id: str | None = None
    model: str | None = None
    tokens: Tokens | None = None
    traced: bool = False

    def add(self, piece: AnswerPiece) -> None:
        """A chunk of it is there."""
        self.arrived = True
        self.text += piece.text
        self.thinking += piece.thinking
        self.finished = self.finished or piece.finished
        self.refused = self.refused or piece.refused
        self.finish_reason = piece.finish_reason or self.finish_reason
        self.answer_id = piece.answer_id or self.answer_id
        self.model = piece.model or self.model
        if piece.tokens is not None:  # some servers count on in each chunk: the last one tells
            self.tokens = piece.tokens
