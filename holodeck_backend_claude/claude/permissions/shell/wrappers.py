"""Commands that run the command among their arguments: where in them it begins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from holodeck_backend_claude.claude.permissions.shell.doubtful import is_special
from holodeck_backend_claude.claude.permissions.shell.findings import (
    Call,
    Doubt,
    Finding,
    Unknown,
    Word,
)

# For 'env' whatever holds a "=" is one.
_ASSIGNMENT = re.compile(r"(?!-)([^=]*)=.*", re.DOTALL)
_NUMBER_OPTION = re.compile(r"-\d+")


@dataclass(frozen=True)
class Wrapper:
    """How a command that runs another one reads its own options.

    Attributes:
        flags: Options without a value; short ones may be joined (``-pv``).
        values: Options with one, which may be joined to it (``-n5``, ``--signal=KILL``).
        before: Arguments of its own before the command.
        assigns: Whether ``NAME=value`` may stand before the command.
        ends: Options with which it runs nothing.
    """

    flags: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    before: int = 0
    assigns: bool = False
    ends: frozenset[str] = frozenset()


def _wrapper(
    flags: str = "", values: str = "", *, before: int = 0, assigns: bool = False, ends: str = ""
) -> Wrapper:
    words = (frozenset(text.split()) for text in (flags, values, ends))
    flag_set, value_set, end_set = words
    return Wrapper(flag_set, value_set, before, assigns, end_set)


WRAPPERS: dict[str, Wrapper] = {
    "env": _wrapper(
        "-i -0 - --ignore-environment --null -v --debug",
        "-u -C --unset --chdir",
        assigns=True,
    ),
    "sudo": _wrapper(
        "-n -b -E -H -P -S -k -K -A -B -N -i -s --preserve-env --login --shell "
        "--non-interactive --stdin",
        "-u -g -h -p -C -T -R -D -r -t -U --user --group --host --prompt --chdir",
        assigns=True,
        ends="-v -l --list --validate",
    ),
    "doas": _wrapper("-n -s -L", "-u -a"),
    "nohup": Wrapper(),
    "setsid": _wrapper("-c -f -w --ctty --fork --wait"),
    "nice": _wrapper("", "-n --adjustment"),
    "ionice": _wrapper("-t --ignore", "-c -n --class --classdata"),
    "time": _wrapper(
        "-p -v -a --portability --verbose --append", "-f -o --format --output", assigns=True
    ),
    "timeout": _wrapper(
        "-v -f -p --foreground --preserve-status --verbose",
        "-k -s --kill-after --signal",
        before=1,
    ),
    "stdbuf": _wrapper("", "-i -o -e --input --output --error"),
    "command": _wrapper("-p", ends="-v -V"),
    "builtin": Wrapper(),
    "exec": _wrapper("-c -l", "-a"),
    "busybox": _wrapper(ends="--list --list-full --help"),
    "toybox": Wrapper(),
    "caffeinate": _wrapper("-d -i -m -s -u", "-t -w"),
    "unbuffer": _wrapper("-p"),
    "catchsegv": Wrapper(),
    "torify": Wrapper(),
    "dbus-run-session": Wrapper(),
}

XARGS = _wrapper(
    "-0 -r -t -p -x -o --null --no-run-if-empty --verbose --interactive --exit --open-tty",
    "-I -n -P -L -s -a -d -E -J -R -S --max-args --max-procs --max-chars --arg-file --delimiter",
)


def unwrapped(call: Call, wrapper: Wrapper) -> tuple[Finding | None, dict[str, str]]:
    """The command that a wrapper runs, or why it cannot be told; None where it runs nothing.

    Returns:
        The finding, and the wrapper's options that had a value.
    """
    name, *rest = call.words
    options: dict[str, str] = {}
    before = wrapper.before
    index, ended = 0, False
    while index < len(rest):
        word = rest[index]
        if isinstance(word, Unknown):
            return Doubt(f"{name} is given {word.source}"), options
        if word == "--" and not ended:
            ended = True
            index += 1
            continue
        if wrapper.assigns and (assigned := _ASSIGNMENT.fullmatch(word)):
            if is_special(assigned[1]):
                return Doubt(f"{assigned[1]} changes what is run"), options
            index += 1
            continue
        if ended or not word.startswith("-"):
            if before == 0:
                break
            before -= 1
            index += 1
            continue
        taken = _option(word, rest[index + 1 :], wrapper, options)
        if taken is None:
            return Doubt(f"{name} has the option {word}"), options
        if taken == 0:
            return None, options
        index += taken
    return _rest(call, rest[index + before :] if before else rest[index:], name), options


def _rest(call: Call, words: Sequence[Word], name: Word) -> Finding | None:
    if words:
        return Call(tuple(words), call.has_more)
    return Doubt(f"{name} is given words that nobody knows yet") if call.has_more else None


def _option(  # noqa: PLR0911  one for each way to write an option
    word: str, following: Sequence[Word], wrapper: Wrapper, options: dict[str, str]
) -> int | None:
    """How many words an option takes; 0 where it ends everything, None where it is not known."""
    name, equals, value = word.partition("=")
    if word in wrapper.ends:
        return 0
    if word in wrapper.flags or (equals and name in wrapper.flags):
        return 1
    if equals and name.startswith("--") and name in wrapper.values:
        options[name] = value
        return 1
    if word in wrapper.values:
        value_word = following[0] if following else Unknown(word)
        if isinstance(value_word, Unknown):
            return 2 if value_word.is_one_word else None
        options[word] = value_word
        return 2
    if word[:2] in wrapper.values and not word.startswith("--"):
        options[word[:2]] = word[2:]
        return 1
    if _NUMBER_OPTION.fullmatch(word) and wrapper is WRAPPERS["nice"]:
        return 1
    return _joined(word, following, wrapper, options)


def _joined(
    word: str, following: Sequence[Word], wrapper: Wrapper, options: dict[str, str]
) -> int | None:
    """``-pv`` is ``-p -v``; the last one may have a value."""
    if word.startswith("--") or len(word) < 3:
        return None
    first, rest = word[:2], f"-{word[2:]}"
    if first in wrapper.ends:
        return 0
    if first not in wrapper.flags:
        return None
    return _option(rest, following, wrapper, options)
