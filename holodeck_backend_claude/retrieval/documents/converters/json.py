"""JSON and JSON Lines to text: each record as lines of ``key: value``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from holodeck_backend_claude.retrieval.documents.formats import UnreadableError, as_text


def convert(data: bytes) -> str:
    """The records of a file, a paragraph each; what is no record is indented JSON."""
    return "\n\n".join(_record(value) for value in _values(as_text(data)))


def _values(text: str) -> Iterator[Any]:
    try:
        whole = json.loads(text)
    except ValueError:
        yield from _lines(text)
        return
    except RecursionError as cause:
        raise UnreadableError("it is nested too deeply") from cause
    yield from whole if isinstance(whole, list) else (whole,)


def _lines(text: str) -> Iterator[Any]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as cause:
                raise UnreadableError(f"it is no JSON (line {number}: {cause})") from cause


def _record(value: Any) -> str:
    if isinstance(value, Mapping):
        return "\n".join(f"{name}: {_plain(item)}" for name, item in value.items())
    return _plain(value)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
