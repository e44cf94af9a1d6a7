"""Secrets that are nowhere by chance and look like no key: only what knows them masks them."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterable
from urllib.parse import quote


class Plants:
    """Secrets by what they are; each is made when it is first asked for.

    A value has a character that URLs write in another way, and each half of it counts as the whole:
    a text may quote a part of it.
    """

    def __init__(self) -> None:
        self._values: dict[str, str] = {}

    def __getitem__(self, what: str) -> str:
        return self._values.setdefault(what, f"{secrets.token_hex(6)}/{secrets.token_hex(6)}")

    def into(self, url: str, what: str) -> str:
        """The address with a user and this password."""
        return url.replace("://", f"://user:{quote(self[what], safe='')}@")

    @property
    def names(self) -> frozenset[str]:
        """What was planted."""
        return frozenset(self._values)

    def quoted(self) -> str:
        """Every value in one line, as somebody may echo them all."""
        return " ".join(self._values.values())

    def found_in(self, *texts: str) -> set[str]:
        """Which of them a text has, as they are or in base64."""
        whole = "\n".join(texts)
        return {
            what
            for what, value in self._values.items()
            if any(form in whole for form in (*value.split("/"), *_in_base64(value.encode())))
        }


def _in_base64(value: bytes) -> Iterable[str]:
    """What is left of it whatever stands around it: the characters at the ends depend on that."""
    for before in range(3):
        yield base64.b64encode(b"\0" * before + value)[4:-4].decode()
