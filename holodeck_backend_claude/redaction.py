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

# What no text says by chance.
_FORMS = tuple(
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
        # scheme://user:password@host; a password may hold an @ or a /, so up to the last @
        (
            r"(?P<before>\b[a-z][a-z0-9+.-]{0,30}://[^\s:/@]{0,200}:)[^\s\"']{1,500}(?P<after>@)",
            re.I,
        ),
    )
)

# What stands after a word that announces a secret; it may also be an ordinary word.
_ANNOUNCED = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        # headers
        r"(?P<before>\b(?:Bearer|Basic)\s+)[A-Za-z0-9._~+/=-]{8,}",
        # name=value, name: value and "name": "value"; the name may end a longer one
        _AFTER_SURE_NAME,
        _ASSIGNED,
        _AFTER_COLON,
    )
)

# Of a variable or of a key in a file; the middle part forgives a slip ("api_kye").
_SECRET_NAME = re.compile(
    r"(?:^|[_.-])(?:key|token|secret|password|passwd|pwd|passphrase|credentials?|authorization"
    r"|headers)$"
    r"|^api_?k[eys]{0,3}$"
    r"|connection_string",
    re.IGNORECASE,
)
_WORKING_FOLDER = "PWD"  # of every process on POSIX
_SHORTEST_VALUE = 8
_remembered: set[str] = set()


def mask_secrets(text: str) -> str:
    """The text of a stranger with everything that looks like a secret replaced by ``[secret]``.

    Masked are the known forms of keys, tokens and passwords, the values of environment variables
    whose name says that they are secret, and what :func:`remember_secrets` was told. If masking
    fails, nothing of the text is returned.
    """
    return _masked(text, (*_FORMS, *_ANNOUNCED))


def mask_known_secrets(text: str, *, also: Iterable[str] = ()) -> str:
    """A text of our own, with only what is certainly a secret replaced by ``[secret]``.

    It may well say ``api_key: 'openai' needs one``, in which the word after the name is none.

    Args:
        text: The text.
        also: Values to mask that need not be remembered.
    """
    return _masked(text, _FORMS, also)


def remember_secrets(values: Iterable[str]) -> None:
    """Mask these values too, from now on; those shorter than eight characters are left alone."""
    _remembered.update(value for value in values if len(value) >= _SHORTEST_VALUE)


def is_secret_name(name: str) -> bool:
    """Whether what has this name holds a secret: a variable, or a key in a file."""
    return name != _WORKING_FOLDER and _SECRET_NAME.search(name) is not None


def _masked(text: str, patterns: Iterable[re.Pattern[str]], also: Iterable[str] = ()) -> str:
    try:
        for value in _secret_values(also):
            text = text.replace(value, MASK)
        for pattern in patterns:
            text = pattern.sub(_replacement, text)
    except Exception:  # noqa: BLE001 - an unchecked text must not get out, whatever went wrong
        return WITHHELD
    return text


def _replacement(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return f"{groups.get('before') or ''}{MASK}{groups.get('after') or ''}"


def _secret_values(also: Iterable[str]) -> list[str]:
    """The known values, the longest first: one may be a part of another."""
    values = {
        value
        for name, value in os.environ.items()
        if len(value) >= _SHORTEST_VALUE and is_secret_name(name)
    }
    values |= _remembered | {value for value in also if value}
    return sorted(values, key=len, reverse=True)
