"""Commands that are, or read, program text: what of it can be told from a command line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holodeck_backend_claude.claude.permissions.shell.doubtful import is_special
from holodeck_backend_claude.claude.permissions.shell.findings import Word
from holodeck_backend_claude.claude.permissions.shell.interpreters import (
    is_interpreter,
    program_text,
)
from holodeck_backend_claude.claude.permissions.shell.options import (
    has_running_options,
    may_be_option,
    running_option,
)
from holodeck_backend_claude.claude.permissions.shell.starters import is_starter
from holodeck_backend_claude.claude.permissions.shell.word_lists import ALWAYS_DOUBTFUL, RESERVED

_AWK = re.compile(r"[gmn]?awk|original-awk|goawk")
_AWK_RUNS = re.compile(r"system|\||getline|@|-[fiEle]|--")
# The scripts of sed that are understood: addresses, then p, d, q, = or a substitution.
_SED_TEXT = r"(?:\\.|[^\\/\n])*"
_SED_ADDRESS = rf"(?:\d+|\$|/{_SED_TEXT}/)"
_SED_PART = r"(?:\\.|[^\\{0}\n])*"
_SED_OTHER = "|".join(
    rf"s{mark}{part}{mark}{part}{mark}[gpiI\d]*"
    for mark, part in ((re.escape(mark), _SED_PART.format(mark)) for mark in "/|#,@")
)
_SED_COMMAND = rf"\s*(?:{_SED_ADDRESS}(?:,{_SED_ADDRESS})?)?\s*!?\s*(?:[pdq=]|{_SED_OTHER})\s*"
_SED_SCRIPT = re.compile(rf"{_SED_COMMAND}(?:[;\n]{_SED_COMMAND})*;?\s*")
_SED_OPTION = re.compile(r"-[nErsuz]+|-i(?:\.\w+)?|--in-place|--quiet|--silent|--regexp-extended")
# Builtins whose arguments are names: anything else in them, bash may compute.
_NAMES = frozenset(
    ["read", "unset", "getopts", "local", "export", "readonly", "declare", "typeset", "wait",
     "mapfile", "readarray"]
)  # fmt: skip
_PLAIN_NAME = re.compile(r"[\w:-]*|[A-Za-z_]\w*=[^$`\[\]]*")
_PLAIN_SET = re.compile(
    r"[-+][euxofCvnbmhtEaT]+|--?|pipefail|errexit|nounset|xtrace|noclobber|noglob"
)


def why_doubtful(  # noqa: PLR0911  one for each reason
    name: str, arguments: Sequence[Word], *, has_more: bool = False
) -> str | None:
    """Why it cannot be told what this command runs, or None.

    Args:
        name: The command, without folders.
        arguments: Its arguments.
        has_more: Whether it gets more of them, which nobody knows yet.
    """
    if has_more and _reads_options(name):
        return f"{name} is given words that nobody knows yet"
    if name in ALWAYS_DOUBTFUL or is_starter(name):
        return f"what {name} runs cannot be told"
    if name in RESERVED:
        return f"{name!r} is not understood here"
    if name in _NAMES and not _all_match(_PLAIN_NAME, arguments):
        return f"{name} is given more than names"
    if name in _NAMES and any(isinstance(word, str) and is_special(word) for word in arguments):
        return f"{name} may change what is run"
    if name == "set" and not _all_match(_PLAIN_SET, arguments):
        return "set may change how the line is read"
    if name == "printf" and _may_begin_with(arguments, "-v"):
        return "printf -v may compute what it is given"
    if name in ("test", "[") and not _all_match(re.compile(r"(?!-[vR]$)[^`$\[]*"), arguments):
        return f"{name} may compute what it is given"
    return _inline(name, arguments)


def _inline(name: str, arguments: Sequence[Word]) -> str | None:
    if (text := program_text(name, arguments)) is not None:
        return text
    if _AWK.fullmatch(name) and not _all_match(re.compile(r"[^$]*|.*", re.DOTALL), arguments):
        return f"{name} is given program text that nobody knows yet"
    if _AWK.fullmatch(name) and _first_matching(_AWK_RUNS, arguments, part=True):
        return f"{name} is given program text that may run a command"
    if name in ("sed", "gsed") and not _is_plain_sed(arguments):
        return f"{name} is given program text that may run a command"
    if (found := running_option(name, arguments)) is not None:
        return f"{name} {found} may run a command"
    return None


def _reads_options(name: str) -> bool:
    return (
        is_interpreter(name)
        or has_running_options(name)
        or name in ("sed", "gsed", "printf", *_NAMES)
        or bool(_AWK.fullmatch(name))
    )


def _may_begin_with(words: Sequence[Word], option: str) -> bool:
    if not words:
        return False
    first = words[0]
    return first.startswith(option) if isinstance(first, str) else may_be_option(first)


def _is_plain_sed(arguments: Sequence[Word]) -> bool:
    """Whether the scripts of sed are known, and only edit."""
    rest = list(arguments)
    scripts: list[Word] = []
    while rest and isinstance(rest[0], str) and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "-e" and rest:
            scripts.append(rest.pop(0))
        elif not _SED_OPTION.fullmatch(str(option)):
            return False
    scripts = scripts or rest[:1]
    options_later = any(not isinstance(word, str) or word.startswith("-") for word in rest)
    return not options_later and bool(scripts) and _all_match(_SED_SCRIPT, scripts)


def _all_match(pattern: re.Pattern[str], words: Sequence[Word]) -> bool:
    return all(isinstance(word, str) and pattern.fullmatch(word) for word in words)


def _first_matching(
    pattern: re.Pattern[str], words: Sequence[Word], *, part: bool = False
) -> str | None:
    for word in words:
        if isinstance(word, str) and (pattern.search(word) if part else pattern.fullmatch(word)):
            return word
    return None
