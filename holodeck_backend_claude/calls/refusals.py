"""How the call policy gives a call up, and what the model reads of any failed call."""

from __future__ import annotations

from holodeck_backend_claude.contract import HoloDeckError
from holodeck_backend_claude.failures import cause_text, error_text


class CallRefusedError(HoloDeckError):
    """The call policy gave a call up; its text is complete and names the tool."""


def text_of(error: BaseException) -> str:
    """Type and message of an error; a refusal needs no type before it."""
    return cause_text(error) if isinstance(error, CallRefusedError) else error_text(error)
