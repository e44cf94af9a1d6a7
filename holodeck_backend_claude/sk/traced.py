"""An answer of the model, as a trace wants it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holodeck_backend_claude.tracing import TracedAnswer, call_part, error_type, text_part

if TYPE_CHECKING:
    from holodeck_backend_claude.sk.answers import ModelAnswer


def traced(
    answer: ModelAnswer, calls: Sequence[tuple[str, str, str]], *, failed_by: str | None
) -> TracedAnswer:
    """The answer in the words of a trace.

    Args:
        answer: The answer, whole or as far as it came.
        calls: Id, name and arguments of the tool calls in it.
        failed_by: The reason why it is not whole; None where it is.
    """
    parts: list[dict[str, Any]] = []
    if answer.thinking:
        parts.append({"type": "reasoning", "content": answer.thinking})
    if answer.text:
        parts.append(text_part(answer.text))
    parts += [call_part(call_id, name, _data(raw)) for call_id, name, raw in calls]
    tokens = answer.tokens
    return TracedAnswer(
        model=answer.model,
        answer_id=answer.answer_id,
        finish_reason=answer.finish_reason,
        input_tokens=tokens.input if tokens else None,
        output_tokens=tokens.output if tokens else None,
        cache_read=tokens.cache_read if tokens else None,
        parts=tuple(parts),
        error=error_type(failed_by) if failed_by else None,
    )


def _data(raw: str) -> object:
    try:
        return json.loads(raw)
    except ValueError:
        return raw
