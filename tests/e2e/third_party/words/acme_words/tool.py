"""A tool that counts words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

from holodeck_backend_claude import ToolAnnotations, ToolCall, ToolContext, ToolResult
from holodeck_backend_claude.config import ToolConfig


class WordCountConfig(ToolConfig):
    """``type: word-count``."""

    type: Literal["word-count"] = "word-count"
    unit: str = "words"


class Counter:
    """What is opened: it counts."""

    def count(self, text: str) -> int:
        """The number of words."""
        return len(text.split())


@asynccontextmanager
async def open_counter(config: WordCountConfig, context: ToolContext) -> AsyncIterator[Counter]:
    """Open the counter of one tool."""
    yield Counter()


class WordCount:
    """The tool as every backend sees it."""

    annotations = ToolAnnotations(read_only=True)
    input_schema = {  # noqa: RUF012
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    }

    def __init__(self, config: WordCountConfig, instance: Counter) -> None:
        self.name = config.name
        self.description = config.description
        self._unit = config.unit
        self._counter = instance

    async def call(self, call: ToolCall) -> ToolResult:
        """Count the words of ``text``."""
        return ToolResult.from_text(f"{self._counter.count(call.arguments['text'])} {self._unit}")
