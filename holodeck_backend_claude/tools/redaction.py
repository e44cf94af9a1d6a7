"""Masking secrets in text that leaves the process as an error message."""

from __future__ import annotations

import os
import re

MASK = "[secret]"
WITHHELD = "[text withheld: it could not be checked for secrets]"

_SENSITIVE_NAME = (
    r"(?:(?:api|access|account|private|shared[_-]?access)[_-]?key|secret|token|passw(?:or)?d|pwd"
    r"|passphrase|credential|sig)"
)

# Each pattern keeps its groups `before` and `after`, where it has them, and masks the rest.
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
        (r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*", 0),
        # headers
        (r"(?P<before>\b(?:Bearer|Basic)\s+)[A-Za-z0-9._~+/=-]{8,}", re.I),
        # scheme://user:password@host
        (r"(?P<before>\b[a-z][a-z0-9+.-]*://[^\s:/@]*:)[^\s@/]+(?P<after>@)", re.I),
        # name=value and "name": "value"; the name may be part of a longer one
        (
            rf"(?P<before>\b[\w-]*{_SENSITIVE_NAME}[\"']?\s*[=:]\s*[\"']?)[^\s\"',;&\[]{{4,}}",
            re.I,
        ),
    )
)

_SECRET_VARIABLE = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$")
_SHORTEST_VALUE = 8


def mask_secrets(text: str) -> str:
    """Return the text with everything that looks like a secret replaced by ``[secret]``.

    Known forms of keys, tokens and passwords are masked, and the values of environment
    variables whose name says that they are secret. If masking fails, nothing of the text is
    returned.
    """
    try:
        return _mask(text)
    except Exception:  # noqa: BLE001 - an unchecked text must not get out, whatever went wrong
        return WITHHELD


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
    values = {
        value
        for name, value in os.environ.items()
        if len(value) >= _SHORTEST_VALUE and _SECRET_VARIABLE.search(name.upper())
    }
    return sorted(values, key=len, reverse=True)
