"""``bash.excluded_commands``: whether a command is an excluded one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from holodeck_backend_claude.claude.permissions.shell.findings import Call

Match: TypeAlias = Literal["yes", "no", "perhaps"]


def name_of(word: str) -> str:
    """A command without its folders."""
    return word.rsplit("/", 1)[-1]


def matches(call: Call, entry: str) -> Match:
    """Whether a call is of an excluded command.

    The name has to be the same, folders and the case of letters not counted, and the further
    words of the entry have to be among the arguments: options in any order and joined in any way
    (``-rf`` is ``-f -r``), other words in their order.

    Args:
        call: Its name is known.
        entry: What ``excluded_commands`` says, e.g. ``rm`` or ``git push``.
    """
    name, *asked = entry.split()
    first, *given = call.words
    if not isinstance(first, str) or _folded(first) != _folded(name):
        return "no"
    if not asked:
        return "yes"
    known = [word for word in given if isinstance(word, str)]
    if _has_options(known, asked) and _has_words(known, asked):
        return "yes"
    return "perhaps" if call.has_more or len(known) < len(given) else "no"


def _folded(word: str) -> str:
    return name_of(word).casefold()


def _has_options(given: Sequence[str], asked: Sequence[str]) -> bool:
    letters = {letter for word in given if _is_short(word) for letter in word[1:]}
    return all(
        set(option[1:]) <= letters if _is_short(option) else option in given
        for option in asked
        if option.startswith("-")
    )


def _is_short(word: str) -> bool:
    return word.startswith("-") and not word.startswith("--")


def _has_words(given: Sequence[str], asked: Sequence[str]) -> bool:
    rest = iter(given)
    return all(word in rest for word in asked if not word.startswith("-"))
