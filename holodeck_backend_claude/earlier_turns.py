"""The earlier turns that ``invoke_once`` can be given: checked, and quoted before the message."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

_WORD = re.compile(r"[a-z_]{1,20}")

_BEGIN = "The conversation so far, as a transcript:\n\n<transcript>\n"
_END = "\n</transcript>\n\nThe user now says:\n\n"

# What opens or closes an element of the transcript, however it is written.
_TAG = re.compile(r"<(?=\s*/?\s*(?:transcript|turn)\b)", re.IGNORECASE)


@dataclass(frozen=True)
class EarlierTurn:
    """What one side said before."""

    role: Literal["user", "assistant"]
    content: str


def check_context(context: object) -> tuple[EarlierTurn, ...]:
    """The earlier turns in ``context``, a list of ``{"role", "content"}`` or None.

    Raises:
        ValueError: It is no such list; the text says where and never shows what somebody said.
    """
    if context is None:
        return ()
    if not isinstance(context, list | tuple):
        kind = type(context).__name__
        raise ValueError(  # noqa: TRY004  # one kind of error for any wrong context
            f"context must be a list of turns, not a {kind}"
        )
    return tuple(_turn(number, turn) for number, turn in enumerate(context))


def with_context(message: str, context: object) -> str:
    """The message, with earlier turns quoted before it, for a model that takes one message.

    Nothing that was said in a turn can end the transcript or begin a turn of another role.

    Args:
        message: What the user says now.
        context: ``{"role": "user" | "assistant", "content": str}`` per earlier turn.

    Raises:
        ValueError: A turn has another role, or no text.
    """
    turns = check_context(context)
    if not turns:
        return message
    return f"{_BEGIN}{chr(10).join(map(_quoted, turns))}{_END}{message}"


def message_of(text: str) -> str:
    """The message in a text that :func:`with_context` made; any other text as it is."""
    if not text.startswith(_BEGIN):
        return text
    _, found, message = text.partition(_END)
    return message if found else text


def _turn(number: int, turn: object) -> EarlierTurn:
    match turn:
        case {"role": "user" | "assistant" as role, "content": str(content)}:
            return EarlierTurn(role, content)
    raise ValueError(
        f"context[{number}] must be {{'role': 'user' or 'assistant', 'content': text}}, "
        f"not {_described(turn)}"
    )


def _described(turn: object) -> str:
    if not isinstance(turn, Mapping):
        return f"a {type(turn).__name__}"
    return f"{_role(turn.get('role'))} with a content of type {type(turn.get('content')).__name__}"


def _role(role: Any) -> str:
    """The role where it is a word, as it is in a typing error; otherwise it may be a content."""
    is_word = role is None or (isinstance(role, str) and _WORD.fullmatch(role))
    return f"the role {role!r}" if is_word else f"a role of type {type(role).__name__}"


def _quoted(turn: EarlierTurn) -> str:
    return f'<turn role="{turn.role}">\n{_TAG.sub("&lt;", turn.content)}\n</turn>'
