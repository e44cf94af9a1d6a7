"""Which excluded command a command line runs, or what about it cannot be told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holodeck_backend_claude.claude.permissions.shell.excluded import matches, name_of
from holodeck_backend_claude.claude.permissions.shell.findings import (
    Call,
    Doubt,
    Finding,
    Unknown,
    Word,
    shown,
)
from holodeck_backend_claude.claude.permissions.shell.programs import why_doubtful
from holodeck_backend_claude.claude.permissions.shell.syntax import read
from holodeck_backend_claude.claude.permissions.shell.word_lists import RESERVED, SHELLS
from holodeck_backend_claude.claude.permissions.shell.wrappers import WRAPPERS, XARGS, unwrapped

_DEEPEST = 12
_FIND_RUNS = ("-exec", "-execdir", "-ok", "-okdir")


@dataclass(frozen=True)
class Excluded:
    """A command line certainly runs this excluded command."""

    entry: str


def check(text: str, excluded: Sequence[str], *, allow_unsafe: bool = False) -> str | None:
    """Why a command line must not run, or None.

    Args:
        text: The command line.
        excluded: The excluded commands.
        allow_unsafe: Let pass of which it cannot be told what it runs.
    """
    if not excluded:
        return None
    doubt: Doubt | None = None
    try:
        for found in _judged(read(text), excluded, depth=0):
            if isinstance(found, Excluded):
                return f"{found.entry!r} is excluded by bash.excluded_commands"
            doubt = doubt or found
    except (RecursionError, ValueError) as error:
        doubt = doubt or Doubt(f"it could not be read ({type(error).__name__})")
    if doubt is None or allow_unsafe:
        return None
    return (
        "bash.excluded_commands is set, and it cannot be told whether this runs an excluded "
        f"command, because {doubt.why}"
    )


def _judged(
    findings: Iterator[Finding], excluded: Sequence[str], *, depth: int
) -> Iterator[Excluded | Doubt]:
    if depth > _DEEPEST:
        yield Doubt("it is nested too deeply")
        return
    for found in findings:
        if isinstance(found, Doubt):
            yield found
        else:
            yield from _judged_call(found, excluded, depth=depth)


def _judged_call(call: Call, excluded: Sequence[str], *, depth: int) -> Iterator[Excluded | Doubt]:
    first, *arguments = call.words
    if isinstance(first, Unknown):
        yield Doubt(f"{shown(first.source)} stands where a command does")
        return
    for entry in excluded:
        match = matches(call, entry)
        if match == "yes":
            yield Excluded(entry)
        elif match == "perhaps":
            yield Doubt(f"it may be {entry!r}")
    name = name_of(first)
    why = why_doubtful(name, arguments, has_more=call.has_more)
    if why is not None:
        yield Doubt(why)
    yield from _judged(_within(name, call, arguments), excluded, depth=depth + 1)


def _within(name: str, call: Call, arguments: Sequence[Word]) -> Iterator[Finding]:
    """What a command runs in turn."""
    if name in WRAPPERS:
        found, _options = unwrapped(call, WRAPPERS[name])
        if found is not None:
            yield _not_reserved(found)
    elif name == "xargs":
        yield from _by_xargs(call)
    elif name == "find":
        yield from _by_find(call, arguments)
    elif name in SHELLS:
        yield from _by_shell(name, call, arguments)
    elif name in ("eval", "trap"):
        yield from _by_text(name, arguments)
    elif name == "coproc":
        yield from (Call(tuple(arguments[start:])) for start in (0, 1) if arguments[start:])


def _not_reserved(found: Finding) -> Finding:
    if isinstance(found, Call) and found.words[0] in RESERVED:
        return Doubt(f"{found.words[0]!r} is not understood here")
    return found


def _by_xargs(call: Call) -> Iterator[Finding]:
    found, options = unwrapped(call, XARGS)
    if not isinstance(found, Call):
        if found is not None:
            yield found
        return  # without a command it is 'echo'
    mark = options.get("-I") or options.get("-J")
    words = tuple(
        Unknown(word) if mark and isinstance(word, str) and mark in word else word
        for word in found.words
    )
    yield Call(words, has_more=True)


def _by_find(call: Call, arguments: Sequence[Word]) -> Iterator[Finding]:
    unknown = [word for word in arguments if isinstance(word, Unknown)]
    if call.has_more or len(unknown) > 1 or any(not word.is_one_word for word in unknown):
        yield Doubt("find is given words that nobody knows yet")
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word in (";", "+") and unknown:
            yield Doubt("find is given words that nobody knows yet")
        if word not in _FIND_RUNS:
            continue
        command: list[Word] = []
        while rest and rest[0] not in (";", "+"):
            command.append(rest.pop(0))
        del rest[:1]
        if command:
            named = (Unknown("{}") if each == "{}" else each for each in command)
            yield Call(tuple(named))


def _by_shell(name: str, call: Call, arguments: Sequence[Word]) -> Iterator[Finding]:
    """``sh -c 'text'`` is read as text is; a shell that reads a file or its input is not."""
    for index, word in enumerate(arguments):
        if isinstance(word, Unknown) or not word.startswith("-"):
            break
        if word in ("-o", "-O", "--rcfile", "--init-file"):
            break
        if not word.startswith("--") and "c" in word:
            text = arguments[index + 1] if index + 1 < len(arguments) else None
            if isinstance(text, str) and not text.startswith("-") and name in ("sh", "bash"):
                yield from read(text)
                return
            if isinstance(text, str):
                yield from read(text)
            break
    yield Doubt(f"what {name} reads cannot be told")


def _by_text(name: str, arguments: Sequence[Word]) -> Iterator[Finding]:
    if arguments[:1] == ["--"]:
        arguments = arguments[1:]
    known = [word for word in arguments if isinstance(word, str)]
    if len(known) < len(arguments):
        yield Doubt(f"{name} is given text that nobody knows yet")
    yield from read(known[0] if name == "trap" and known else " ".join(known))
