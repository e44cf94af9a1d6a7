"""What the reading of a command line yields: commands, and what could not be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias


@dataclass(frozen=True)
class Unknown:
    """A word, or several, that only the shell will know.

    Attributes:
        source: How it is written.
        is_one_word: Whether it certainly stands for exactly one word.
    """

    source: str
    is_one_word: bool = False


Word: TypeAlias = str | Unknown


@dataclass(frozen=True)
class Call:
    """A command with its words, as it will be run.

    Attributes:
        words: Its name and its arguments, quotes resolved.
        has_more: Whether further arguments follow that nobody knows yet.
    """

    words: tuple[Word, ...]
    has_more: bool = False


@dataclass(frozen=True)
class Doubt:
    """Something of which it cannot be told what it runs; ``why`` completes "because ..."."""

    why: str


Finding: TypeAlias = Call | Doubt

LONGEST: Final = 60


def shown(text: str) -> str:
    """A part of a command line for a message: in quotes, on one line, and cut."""
    line = " ".join(text.split())
    return repr(line if len(line) <= LONGEST else line[: LONGEST - 1] + "…")
