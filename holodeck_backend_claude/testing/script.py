"""How scripts are written: the same words for every wire format."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

from holodeck_backend_claude.testing.answers import (
    Answer,
    Cut,
    Failure,
    Hold,
    Part,
    Raw,
    Reply,
    Reset,
    Silence,
    Step,
    Text,
    Thinking,
    ToolUse,
    Usage,
    split,
)
from holodeck_backend_claude.testing.request import ModelRequest

AnswerFunction: TypeAlias = Callable[[ModelRequest], Answer | Awaitable[Answer]]
"""Answers from what was asked; may be async."""


@dataclass(frozen=True)
class Forever(Step):
    """A step that answers every further request."""

    step: Answer | AnswerFunction


Script: TypeAlias = Step | AnswerFunction | Sequence[Step | AnswerFunction]
"""Steps, taken one per model request, or a function that answers every request."""

_AnswerT = TypeVar("_AnswerT", Reply, Failure)


def say(
    text: str,
    *,
    chunks: Sequence[str] | None = None,
    thinking: str | None = None,
    usage: Usage | None = None,
    stop_reason: str | None = None,
) -> Reply:
    """An answer in words.

    Args:
        text: The answer; an empty one leaves the answer without a text.
        chunks: The pieces in which it is streamed; they must join to ``text``.
        thinking: What the model thinks before it.
        usage: The tokens it reports.
        stop_reason: See :class:`Reply`.

    Raises:
        ValueError: ``chunks`` do not join to ``text``.
    """
    if chunks is not None and "".join(chunks) != text:
        raise ValueError(f"the chunks {list(chunks)!r} do not join to the text {text!r}")
    parts: list[Part] = [Thinking(split(thinking))] if thinking else []
    if text:
        parts.append(Text(split(text) if chunks is None else tuple(filter(None, chunks))))
    return Reply(tuple(parts), usage or Usage(), stop_reason)


def call_tool(
    name: str,
    arguments: Mapping[str, Any] | str | None = None,
    *,
    call_id: str | None = None,
    usage: Usage | None = None,
) -> Reply:
    """An answer that calls one tool.

    Args:
        name: The tool's own name: ``kb_search`` finds ``mcp__holodeck_tools__kb_search`` among
            the tools of the request, and ``mine_add`` finds ``mcp__mine__add`` of an MCP server.
            A name that is not there is sent as it is.
        arguments: The arguments; a string is sent as it is, so it need not be JSON.
        call_id: The id of the call; None makes a unique one.
        usage: The tokens the answer reports.
    """
    return Reply(
        (ToolUse(name, {} if arguments is None else arguments, call_id),), usage or Usage()
    )


def reply(*answers: Reply, usage: Usage | None = None, stop_reason: str | None = None) -> Reply:
    """One answer made of several: ``reply(say("I look."), call_tool("a"), call_tool("b"))``.

    Raises:
        ValueError: One of them has a usage, a stop reason, a delay, a cut or a hold of its own.
    """
    if any(answer != Reply(answer.parts) for answer in answers):
        raise ValueError("usage, stop_reason, delay, cut and hold belong to the whole reply(...)")
    parts = tuple(part for answer in answers for part in answer.parts)
    return Reply(parts, usage or Usage(), stop_reason)


def fail(
    status: int,
    message: str = "scripted failure",
    *,
    error_type: str | None = None,
    retry_after: float | None = None,
) -> Failure:
    """An HTTP error.

    Args:
        status: 400, 401, 403, 404, 413, 429, 500, 529 or any other.
        message: The text of the error.
        error_type: The type in the body; None takes what the API sends with this status.
        retry_after: Seconds for the ``retry-after`` header.
    """
    return Failure(status, message, error_type, retry_after)


def cut(answer: Reply, *, after_pieces: int, error: Failure | None = None) -> Reply:
    """The answer, broken off after so many pieces of text, thinking or arguments.

    The connection is dropped; with ``error`` the answer ends with that error instead.

    Raises:
        ValueError: The answer has fewer pieces.
    """
    answer.check_has_pieces(after_pieces)
    return replace(answer, cut=Cut(after_pieces, error))


def delay(answer: _AnswerT, *, before: float = 0.0, between: float = 0.0) -> _AnswerT:
    """The answer, late: seconds before its first byte and after each streamed piece."""
    if isinstance(answer, Failure):
        return replace(answer, before=before)
    return replace(answer, before=before, between=between)


def hold(answer: Reply, gate: asyncio.Event, *, after_pieces: int = 0) -> Reply:
    """The answer, halted after so many pieces until ``gate.set()``; may be used repeatedly.

    Raises:
        ValueError: The answer has fewer pieces.
    """
    answer.check_has_pieces(after_pieces)
    return replace(answer, holds=(*answer.holds, Hold(after_pieces, gate)))


def raw(body: bytes | str, *, status: int = 200, content_type: str = "text/event-stream") -> Raw:
    """A body as it is, in no format or in a broken one.

    Args:
        body: What the client gets.
        status: The HTTP status.
        content_type: The header of this name.
    """
    return Raw(body.encode() if isinstance(body, str) else body, status, content_type)


def reset() -> Reset:
    """No answer: the connection is reset as soon as the request was read."""
    return Reset()


def hang() -> Silence:
    """No answer, until the client leaves or the server closes."""
    return Silence()


def forever(step: Answer | AnswerFunction) -> Forever:
    """The step, for this and every further request; the last one of a script."""
    return Forever(step)
