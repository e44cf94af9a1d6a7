"""What an exception reads like: type and message, never empty, secrets masked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from holodeck_backend_claude.contract import (
    BackendInitError,
    BackendSessionError,
    ConfigError,
    HoloDeckError,
)
from holodeck_backend_claude.redaction import mask_known_secrets, mask_secrets

LOOP_STOPPED = (
    "the event loop was stopped before the agent had answered: a tool has called stop() on it; "
    "let the tool return instead"
)
_LONGEST_MESSAGE = 100_000  # characters; an error may quote whatever it was about


def error_text(error: BaseException) -> str:
    """Type and message of an error.

    ``str(error)`` alone is empty for ``TimeoutError()``, says nothing for ``KeyError('id')``, and
    may itself raise.
    """
    return _masked(_describe(error), error)


def cause_text(error: BaseException) -> str:
    """The text of an error as part of a message for the user.

    The errors of this package are written for the user and need no type before them.
    """
    if isinstance(error, HoloDeckError) and _message(error):
        return _masked(_message(error), error)
    return error_text(error)


@contextmanager
def keeps_from_starting() -> Iterator[None]:
    """What is wrong in here keeps a backend from starting, and is called so.

    Raises:
        BackendInitError: With the text of the error it was.
    """
    try:
        yield
    except (ConfigError, BackendSessionError) as cause:
        raise BackendInitError(str(cause)) from cause


def _masked(text: str, error: BaseException) -> str:
    """Our own errors mask what they quote, and "api_key: 'openai' needs one" quotes no key."""
    return mask_known_secrets(text) if isinstance(error, HoloDeckError) else mask_secrets(text)


def _describe(error: BaseException) -> str:
    text = f"{type(error).__name__}: {_message(error) or 'no message'}"
    if isinstance(error, BaseExceptionGroup):
        parts = "; ".join(_describe(part) for part in error.exceptions)
        text = f"{text} [{parts}]"
    return text


def _message(error: BaseException) -> str:
    try:
        return str(error)[:_LONGEST_MESSAGE].strip()
    except Exception:  # noqa: BLE001 - an exception whose __str__ fails still has a type
        return ""
