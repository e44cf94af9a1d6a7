"""What a server says, read as messages; of what cannot be read, whose answer it was to be."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

from mcp.types import INTERNAL_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, RequestId
from pydantic import ValidationError

# Two halves of a sign, one half alone, or any other escape, so that "\\ud800" is none.
_ESCAPES = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)
_ANSWER = re.compile(
    r'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"id"\s*:\s*"?(?P<id>\d+)"?\s*,\s*)?'
    r'"(?:result|error)"\s*:'
)
"""How an answer begins; where its id comes last, it may be what is missing."""


class Unanswered(ErrorData):
    """Stands in for an answer that did not come, or could not be read; its message says why."""


def no_answer(request_id: RequestId, problem: str) -> JSONRPCMessage:
    """What tells the waiting request that there is nothing to wait for."""
    error = Unanswered(code=INTERNAL_ERROR, message=problem)
    return JSONRPCMessage(JSONRPCError(jsonrpc="2.0", id=request_id, error=error))


def read_message(text: str) -> JSONRPCMessage:
    """The message that a text is.

    Half a sign, which is what cutting a text within an emoji leaves in some languages, becomes
    the sign for what is missing: JSON in UTF-8 has no halves.

    Raises:
        ValueError: It is no message.
    """
    try:
        return JSONRPCMessage.model_validate_json(text)
    except ValueError:
        mended = _ESCAPES.sub(_whole, text)
        if mended == text:
            raise
        return JSONRPCMessage.model_validate_json(mended)


def why_unreadable(text: str, cause: ValueError) -> str:
    """Why a text is no message, for the request it was to answer."""
    if isinstance(cause, ValidationError):
        first = cause.errors(include_url=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            return str(first["msg"])
    match _parsed(text):
        case {"error": {"message": str(said)}}:
            return f"an error that names no request: {said[:200]}"
    return "it is neither a result nor an error"


def answered_by(text: str, waiting: Collection[RequestId]) -> RequestId | None:
    """Which request is answered by a text that is no message, as far as the text tells.

    Args:
        text: The text.
        waiting: The requests that wait; if it is one, an answer without an id is for that.
    """
    named: Any
    match _parsed(text):
        case {"method": _}:
            return None
        case {"result": _} | {"error": _} as said:
            named = said.get("id")
        case None if begun := _ANSWER.match(text):
            named = begun["id"]
        case _:
            return None
    if named is None:
        return next(iter(waiting)) if len(waiting) == 1 else None
    return waiting_as(named, waiting)


def waiting_as(named: object, waiting: Collection[RequestId]) -> RequestId | None:
    """The request that an id means; some servers make a text of a number."""
    return next((each for each in waiting if str(each) == str(named)), None)


def _whole(escape: re.Match[str]) -> str:
    return "\\ufffd" if escape["half"] else escape[0]


def _parsed(text: str) -> Any:
    """The text as Python reads it, which is deeper than mcp does; None if it cannot either."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
