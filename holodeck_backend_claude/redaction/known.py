"""The secrets that are known by their value, in every form in which they may come back."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from urllib.parse import quote, quote_plus, unquote, urlsplit

# Of a variable or of a key in a file; the middle part forgives a slip ("api_kye").
_SECRET_NAME = re.compile(
    r"(?:^|[_.-])(?:key|token|secret|password|passwd|pwd|passphrase|credentials?|authorization"
    r"|headers)$"
    r"|[_.-](?:pass|pat|auth)$"
    r"|(?:password|passwd|api_?key)$"
    r"|(?-i:[a-z](?:Key|Token|Secret))$"
    r"|^api_?k[eys]{0,3}$"
    r"|^identity_header$"
    r"|connection_string"
    r"|bearer_token",
    re.IGNORECASE,
)
_WORKING_FOLDER = "PWD"  # of every process on POSIX
_SHORTEST_VALUE = 8
_SHORTEST_ENCODED = 10
_remembered: set[str] = set()


def remember_secrets(values: Iterable[str]) -> None:
    """Mask these values too, from now on; those shorter than eight characters are left alone."""
    _remembered.update(value for value in values if len(value) >= _SHORTEST_VALUE)


def passwords_in(address: str | None) -> Iterator[str]:
    """The password that an address has before its @, as written and as meant."""
    try:
        password = urlsplit(address or "").password
    except ValueError:
        return
    if password:
        yield password
        yield unquote(password)


def is_secret_name(name: str) -> bool:
    """Whether what has this name holds a secret: a variable, or a key in a file."""
    return name != _WORKING_FOLDER and _SECRET_NAME.search(name) is not None


def secret_texts(also: Iterable[str]) -> list[str]:
    """The known values in all their forms, the longest first: one may be a part of another."""
    values = {
        value
        for name, value in os.environ.items()
        if len(value) >= _SHORTEST_VALUE and is_secret_name(name)
    }
    values |= _remembered | {value for value in also if value}
    return sorted({form for value in values for form in _forms(value)}, key=len, reverse=True)


@lru_cache(maxsize=1_024)
def _forms(value: str) -> frozenset[str]:
    """A value as it is, in a URL, in JSON, in JSON within JSON, and in base64."""
    once = json.dumps(value)[1:-1]
    whole = {value, quote(value, safe=""), quote(value), quote_plus(value), once}
    whole |= {json.dumps(once)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    whole.add(value.replace("/", "\\/"))
    if len(value) >= _SHORTEST_VALUE:
        whole.update(_in_base64(value.encode("utf-8", "surrogatepass")))
    return frozenset(whole)


def _in_base64(value: bytes) -> Iterator[str]:
    """What base64 shows of a value, whatever stands before and after it."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + value).decode("ascii")
        # the characters at both ends also depend on the neighbours
        first = (before * 8 + 5) // 6
        last = (before + len(value)) * 8 // 6
        core = encoded[first:last]
        if len(core) >= _SHORTEST_ENCODED:
            yield core
            yield core.replace("+", "-").replace("/", "_")
