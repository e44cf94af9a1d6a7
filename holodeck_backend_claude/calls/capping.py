"""The cap on what one result may put into the model's context, with a visible mark."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from holodeck_backend_claude.contract import (
    ContentBlock,
    ImageContent,
    ResourceContent,
    TextContent,
    ToolResult,
)


def cap_result(result: ToolResult, limit: int, *, left_out: int = 0) -> ToolResult:
    """Cut the text of a result to ``limit`` characters, the mark that tells of it included.

    Images do not count. Structured data above the limit is left out, because a part of it
    would be another value.

    Args:
        result: What a tool gave.
        limit: Characters of text at most.
        left_out: Characters that were cut off its end before.
    """
    if result.structured is not None and len(json.dumps(result.structured)) > limit:
        result = replace(result, structured=None)
    total = left_out + text_length(result.content)
    if total <= limit:
        return result
    longest_mark = len(_mark(total, total))
    return replace(result, content=tuple(_cut(result.content, total, limit - longest_mark)))


def text_length(content: Iterable[ContentBlock]) -> int:
    """How many characters of text there are."""
    return sum(_length(block) for block in content)


def _cut(content: Iterable[ContentBlock], total: int, room: int) -> Iterable[ContentBlock]:
    left = max(room, 0)
    for block in content:
        if _length(block) <= left:
            left -= _length(block)
            yield block
        elif left >= 0:
            yield _shortened(block, left, _mark(total - max(room, 0), total))
            left = -1


def _mark(left_out: int, total: int) -> str:
    return f"\n[cut here: {left_out} of {total} characters left out]"


def _length(block: ContentBlock) -> int:
    return 0 if isinstance(block, ImageContent) else len(block.text)


def _shortened(block: ContentBlock, length: int, mark: str) -> ContentBlock:
    match block:
        case TextContent(text=text) | ResourceContent(text=text):
            return replace(block, text=text[:length] + mark)
        case ImageContent():
            return block
