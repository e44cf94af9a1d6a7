"""Masking secrets in text that leaves the process: the one redactor of every way out."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable

from holodeck_backend_claude.redaction.known import (
    is_secret_name,
    passwords_in,
    remember_secrets,
    secret_texts,
)
from holodeck_backend_claude.redaction.shapes import ANNOUNCED, FORMS, Shape

__all__ = [
    "MASK",
    "WITHHELD",
    "is_secret_name",
    "mask_beginning",
    "mask_known_secrets",
    "mask_remembered_secrets",
    "mask_secrets",
    "passwords_in",
    "remember_secrets",
    "traceback_of",
]

_LONGEST_SECRET = 4_000  # characters; a longer one is a block whose beginning is enough

MASK = "[secret]"
WITHHELD = "[text withheld: it could not be checked for secrets]"


def mask_secrets(text: str) -> str:
    """The text of a stranger with everything that looks like a secret replaced by ``[secret]``.

    Masked are the known forms of keys, tokens and passwords, the values of environment variables
    whose name says that they are secret, and what :func:`remember_secrets` was told. If masking
    fails, nothing of the text is returned.
    """
    return _masked(text, (*FORMS, *ANNOUNCED))


def mask_beginning(text: str, length: int) -> str:
    """At most the first ``length`` characters, masked as :func:`mask_secrets` masks the whole.

    It takes no longer for a text that is longer, and shows no part of a secret that the cut
    goes through.
    """
    if len(text) <= length:
        return mask_secrets(text)
    return mask_secrets(text[: length + _LONGEST_SECRET])[:-_LONGEST_SECRET]


def mask_known_secrets(text: str, *, also: Iterable[str] = ()) -> str:
    """A text of our own, with only what is certainly a secret replaced by ``[secret]``.

    It may well say ``api_key: 'openai' needs one``, in which the word after the name is none.

    Args:
        text: The text.
        also: Values to mask that need not be remembered.
    """
    return _masked(text, FORMS, also)


def mask_remembered_secrets(text: str) -> str:
    """A text in which somebody looks for code, with nothing masked for its form alone.

    Whoever wrote it could give code the form of a secret, so that it is not seen.
    """
    return _masked(text, ())


def traceback_of(error: BaseException) -> str:
    """The traceback of an error for a log, masked: whoever reads the log may not mask it."""
    return mask_secrets("".join(traceback.format_exception(error)).rstrip())


def _masked(text: str, shapes: Iterable[Shape], also: Iterable[str] = ()) -> str:
    try:
        for value in secret_texts(also):
            text = text.replace(value, MASK)
        folded = text.lower()
        for shape in shapes:
            if any(hint in text or hint in folded for hint in shape.hints):
                text = shape.pattern.sub(_replacement, text)
    except Exception:  # noqa: BLE001 - an unchecked text must not get out, whatever went wrong
        return WITHHELD
    return text


def _replacement(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return f"{groups.get('before') or ''}{MASK}{groups.get('after') or ''}"
