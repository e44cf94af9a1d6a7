"""Masking secrets in text that leaves the process as an error message."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

MASK = "[secret]"
WITHHELD = "[text withheld: it could not be checked for secrets]"

# Names of settings whose value is secret: whatever stands after the first kind, and after the
# second only what looks like it ("unexpected token: foo" is no secret).
_SURELY = (
    r"(?:(?:api|access|account|private|shared[ _-]?access)[ _-]?key|secret|passw(?:or)?d|pwd"
    r"|passphrase)"
)
_PERHAPS = r"(?:token|credentials?|sig|signature)"
_QUOTE = r"[\"']?"
_NOT_MASKED = r"(?!\[secret\])"
_VALUE = r"[^\s\"',;&]"
_AFTER_SURE_NAME = (
    rf"(?P<before>{_SURELY}{_QUOTE}(?: provided)?\s*[=:]\s*{_QUOTE}){_NOT_MASKED}{_VALUE}{{4,}}"
)
_ASSIGNED = rf"(?P<before>{_PERHAPS}{_QUOTE}=\s*{_QUOTE}){_NOT_MASKED}{_VALUE}{{4,}}"
_AFTER_COLON = (
    rf"(?P<before>{_PERHAPS}{_QUOTE}\s*:\s*{_QUOTE})"
    rf"(?={_VALUE}{{0,200}}\d){_NOT_MASKED}{_VALUE}{{12,}}"
)

# Each pattern keeps its groups `before` and `after`, where it has them, and masks the rest. What
# precedes the end of a match is bounded, so that no text takes more than linear time.
_PATTERNS = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        # private keys, whole
        (r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S),
        # keys that tell their provider
        (r"\bsk-[A-Za-z0-9_-]{8,}", 0),
        (r"\b(?:AKIA|ASIA)[0-9A-Z]{12,}", 0),
        (r"\bgh[opusr]_[A-Za-z0-9]{10,}", 0),
        (r"\bgithub_pat_[A-Za-z0-9_]{10,}", 0),
        (r"\bglpat-[A-Za-z0-9_-]{10,}", 0),
        (r"\bxox[abeoprs]-[A-Za-z0-9-]{8,}", 0),
        (r"\bAIza[0-9A-Za-z_-]{20,}", 0),
        (r"\b(?:hf|npm|pypi|gsk|pat)[_-][A-Za-z0-9]{20,}", 0),
        (r"\beyJ[A-Za-z0-9_-]{8,1000}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*", 0),
        # headers
        (r"(?P<before>\b(?:Bearer|Basic)\s+)[A-Za-z0-9._~+/=-]{8,}", re.I),
        # scheme://user:password@host; a password may hold an @ or a /, so up to the last @
        (
            r"(?P<before>\b[a-z][a-z0-9+.-]{0,30}://[^\s:/@]{0,200}:)[^\s\"']{1,500}(?P<after>@)",
            re.I,
        ),
        # name=value, name: value and "name": "value"; the name may end a longer one
        (_AFTER_SURE_NAME, re.I),
        (_ASSIGNED, re.I),
        (_AFTER_COLON, re.I),
    )
)

_SECRET_VARIABLE = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$")
_SHORTEST_VALUE = 8
_remembered: set[str] = set()


def mask_secrets(text: str) -> str:
    """Return the text with everything that looks like a secret replaced by ``[secret]``.

    Masked are the known forms of keys, tokens and passwords, the values of environment variables
    whose name says that they are secret, and what :func:`remember_secrets` was told. If masking
    fails, nothing of the text is returned.
    """
    try:
        return _mask(text)
    except Exception:  # noqa: BLE001 - an unchecked text must not get out, whatever went wrong
        return WITHHELD


def remember_secrets(values: Iterable[str]) -> None:
    """Mask these values too, from now on; those shorter than eight characters are left alone."""
    _remembered.update(value for value in values if len(value) >= _SHORTEST_VALUE)


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name holds a secret, e.g. ``OPENAI_API_KEY``."""
    return _SECRET_VARIABLE.search(name.upper()) is not None


def _mask(text: str) -> str:
    for value in _secret_values():
        text = text.replace(value, MASK)
    for pattern in _PATTERNS:
        text = pattern.sub(_replacement, text)
    return text


def _replacement(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return f"{groups.get('before') or ''}{MASK}{groups.get('after') or ''}"


def _secret_values() -> list[str]:
    """The known values, the longest first: one may be a part of another."""
    values = {
        value
        for name, value in os.environ.items()
        if len(value) >= _SHORTEST_VALUE and is_secret_name(name)
    }
    return sorted(values | _remembered, key=len, reverse=True)
