"""The table of the suite: on a terminal after a run, and as the page of the documentation."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from tests.faults.registry import GROUPS, Cause

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "faults.md"
BEGIN = "<!-- table: make faults-page -->"


def told(outcome: str | Mapping[str, str]) -> str:
    """One outcome in words; of a cause with several values, those that end alike are together."""
    if isinstance(outcome, str):
        return outcome
    values: dict[str, list[str]] = {}
    for value, how in outcome.items():
        values.setdefault(how, []).append(value)
    if len(values) == 1:
        return next(iter(values))
    return "; ".join(f"{', '.join(which)}: {how}" for how, which in values.items())


def cause_in_words(what: str, outcome: str | Mapping[str, str]) -> str:
    """The cause, with its values where all of them end alike."""
    if isinstance(outcome, str) or len(set(outcome.values())) > 1:
        return what
    return f"{what}: {', '.join(outcome)}"


# ------------------------------------------------------------------------------------- the page


def page_of(causes: Sequence[Cause]) -> str:
    """The tables of the page, one per group."""
    parts = [BEGIN]
    for group, title in GROUPS.items():
        rows = [_row(cause) for cause in causes if cause.group == group]
        parts += [f"## {title}", "\n".join((_HEAD, *rows))]
    return "\n\n".join(parts) + "\n"


_HEAD = "| cause | what comes of it | what is left |\n|---|---|---|"


def _row(cause: Cause) -> str:
    what = cause_in_words(cause.what, cause.expected)
    return f"| {_cell(what)} | {_cell(told(cause.expected))} | {_cell(cause.left)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def written() -> str:
    """The tables that are on the page."""
    return BEGIN + PAGE.read_text(encoding="utf-8").partition(BEGIN)[2]


def write(causes: Sequence[Cause]) -> None:
    """Put the tables on the page; what stands before them stays."""
    before = PAGE.read_text(encoding="utf-8").partition(BEGIN)[0]
    PAGE.write_text(before + page_of(causes), encoding="utf-8")


# --------------------------------------------------------------------------------- after a run

_COLUMNS = ("", "cause", "expected", "got", "left")


class Report:
    """Collects what the tests recorded and shows it; a plugin of pytest.

    Args:
        out: Where to; colours only where it is a terminal.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._records: list[dict[str, Any]] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Take what a test recorded; called by pytest, also for the tests of its workers."""
        record = dict(report.user_properties).get("fault")
        if report.when == "call" and record is not None:
            self._records.append({**record, "ok": report.passed, "skipped": report.skipped})

    @property
    def failed(self) -> int:
        """How many causes did not end as expected."""
        return sum(not (record["ok"] or record["skipped"]) for record in self._records)

    def show(self) -> None:
        """Print the table and its sum."""
        for group, title in GROUPS.items():
            records = [record for record in self._records if record["group"] == group]
            if records:
                self._print(f"\n{title}", bold=True)
                self._table(records)
        values = sum(
            1 if isinstance(record["expected"], str) else len(record["expected"])
            for record in self._records
        )
        self._print(
            f"\n{len(self._records)} causes with {values} values, {self.failed} not as expected",
            bold=True,
        )

    def _table(self, records: Sequence[Mapping[str, Any]]) -> None:
        widths = self._widths()
        self._print(_line(_COLUMNS, widths))
        self._print("  ".join("-" * width for width in widths))
        for record in records:
            for line in _lines(record, widths):
                self._print(line, red=not (record["ok"] or record["skipped"]))

    def _widths(self) -> tuple[int, ...]:
        columns = shutil.get_terminal_size((160, 24)).columns if self._out.isatty() else 160
        rest = max(60, columns - 6 - 2 * 4)
        return (4, rest * 4 // 12, rest * 3 // 12, rest * 3 // 12, rest * 2 // 12)

    def _print(self, text: str, *, bold: bool = False, red: bool = False) -> None:
        style = "\x1b[1m" if bold else "\x1b[31m" if red else ""
        if style and self._out.isatty():
            text = f"{style}{text}\x1b[0m"
        self._out.write(f"{text}\n")


def _lines(record: Mapping[str, Any], widths: Sequence[int]) -> Iterator[str]:
    mark = "skip" if record["skipped"] else "ok" if record["ok"] else "FAIL"
    expected, got = record["expected"], record["got"]
    cells = (mark, cause_in_words(record["what"], expected), told(expected), told(got))
    columns = [
        textwrap.wrap(text, width) or [""]
        for text, width in zip((*cells, record["left"]), widths, strict=True)
    ]
    for number in range(max(map(len, columns))):
        yield _line([column[number] if number < len(column) else "" for column in columns], widths)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()
