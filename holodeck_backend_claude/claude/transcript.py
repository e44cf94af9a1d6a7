"""Earlier turns as a transcript before the message, for Claude Code takes one message at a time."""

from __future__ import annotations

import re

from holodeck_backend_claude.earlier_turns import EarlierTurn, check_context

_BEGIN = "The conversation so far, as a transcript:\n\n<transcript>\n"
_END = "\n</transcript>\n\nThe user now says:\n\n"

# What opens or closes an element of the transcript, however it is written.
_TAG = re.compile(r"<(?=\s*/?\s*(?:transcript|turn)\b)", re.IGNORECASE)


def with_context(message: str, context: object) -> str:
    """The message, with earlier turns quoted before it.

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


def _quoted(turn: EarlierTurn) -> str:
    return f'<turn role="{turn.role}">\n{_TAG.sub("&lt;", turn.content)}\n</turn>'
