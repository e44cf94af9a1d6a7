"""Rows of cells as a Markdown table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table whose first row is its header; empty where there is no row.

    Rows without any content are left out, and so are columns at the end without any.
    """
    texts = [[_cell(value) for value in row] for row in rows]
    texts = [row for row in texts if any(row)]
    width = max((len(_trimmed(row)) for row in texts), default=0)
    if not width:
        return ""
    head, *body = [(row + [""] * width)[:width] for row in texts]
    lines = [_line(head), _line(["---"] * width), *map(_line, body)]
    return "\n".join(lines)


def _trimmed(row: list[str]) -> list[str]:
    while row and not row[-1]:
        row = row[:-1]
    return row


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return " ".join(str(value).replace("|", "\\|").split())


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
