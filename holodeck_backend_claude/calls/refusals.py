"""How the call policy gives a call up, and what the model reads of any failed call."""

from __future__ import annotations

from holodeck_backend_claude.contract import HoloDeckError, ToolServerError
from holodeck_backend_claude.failures import cause_text, error_text


class CallRefusedError(HoloDeckError):
    """The call policy gave a call up; its text is complete and names the tool."""


def text_of(error: BaseException) -> str:
    """Type and message of an error; one that names tool or server needs no type before it."""
    complete = isinstance(error, CallRefusedError | ToolServerError)
    return cause_text(error) if complete else error_text(error)
