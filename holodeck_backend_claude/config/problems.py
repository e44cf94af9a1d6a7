"""What is wrong with an agent file: one Problem each, and the error that carries them all."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias

from holodeck_backend_claude.contract import ConfigError

MAX_SHOWN = 100

DataPath: TypeAlias = tuple[str | int, ...]
"""Where a value stands in the data of a file: ``("tools", 0, "type")``."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a text, both counted from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Problem:
    """One thing to fix, or one thing to know, in a file.

    Attributes:
        file: The file, as the user named it.
        line: Counted from 1; None where the whole file is meant.
        column: Counted from 1.
        path: The value, e.g. ``tools[0].type``; empty where the whole file is meant.
        message: What is wrong, with the offending text; never a secret.
        hint: What to do about it.
    """

    file: str
    line: int | None
    column: int | None
    path: str
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        subject = f"{self.path}: " if self.path else ""
        text = f"{where}  {subject}{self.message}"
        return f"{text}\n    {self.hint}" if self.hint else text

    def to_dict(self) -> dict[str, str | int | None]:
        """All fields as plain data (``validate --json`` prints this)."""
        return asdict(self)


class AgentFileError(ConfigError):
    """An agent file cannot be used.

    Attributes:
        problems: Everything that is wrong with it, in the order of the file.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=_position))
        count = len(self.problems)
        lines = [
            "the agent file has 1 problem:"
            if count == 1
            else f"the agent file has {count} problems:"
        ]
        lines += [str(problem) for problem in self.problems[:MAX_SHOWN]]
        if count > MAX_SHOWN:
            lines.append(f"… and {count - MAX_SHOWN} more")
        super().__init__("\n".join(lines))


class Findings:
    """Collects what one file has to be told, so that all of it is told at once."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.errors: list[Problem] = []
        self.notices: list[Problem] = []
        self._places: set[tuple[int | None, int | None, str]] = set()

    def copy(self) -> Findings:
        """The same so far; what is added to one is not added to the other."""
        other = Findings(self.file)
        other.errors, other.notices = list(self.errors), list(self.notices)
        other._places = set(self._places)
        return other

    def error(
        self, mark: Mark | None, path: DataPath, message: str, *, hint: str | None = None
    ) -> None:
        """Add a problem; a second one of the same value adds nothing a reader can use."""
        found = self._problem(mark, path, message, hint)
        place = (found.line, found.column, found.path)
        if place not in self._places:
            self._places.add(place)
            self.errors.append(found)

    def notice(
        self, mark: Mark | None, path: DataPath, message: str, *, hint: str | None = None
    ) -> None:
        """Add something to know that does not stand in the way."""
        self.notices.append(self._problem(mark, path, message, hint))

    def raise_errors(self) -> None:
        """Raise all errors together, if there are any."""
        if self.errors:
            raise AgentFileError(self.errors)

    def _problem(
        self, mark: Mark | None, path: DataPath, message: str, hint: str | None
    ) -> Problem:
        line, column = (mark.line, mark.column) if mark else (None, None)
        return Problem(self.file, line, column, format_path(path), message, hint)


def format_path(path: DataPath) -> str:
    """``("tools", 0, "type")`` as ``tools[0].type``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.replace("_", "").replace("-", "").isalnum():
            text += f".{part}" if text else part
        else:
            text += f"[{shorten(part)}]"
    return text


def shorten(text: str, limit: int = 60) -> str:
    """The text in quotes, on one line, cut where it is long."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return repr(cut)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``" - did you mean 'x'?"`` where a known word is close, or nothing."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def listed(words: Iterable[str]) -> str:
    """The words, sorted and with commas between them, or ``none``."""
    return ", ".join(sorted(words)) or "none"


def _position(problem: Problem) -> tuple[str, int, int]:
    return problem.file, problem.line or 0, problem.column or 0
