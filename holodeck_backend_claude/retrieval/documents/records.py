"""Records of CSV, JSON and JSON Lines files: an id, what is searched, and what is told with it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from holodeck_backend_claude.retrieval.documents.converters.csv import delimiter_of
from holodeck_backend_claude.retrieval.documents.formats import UnreadableError, as_text

_TABLES = (".csv", ".tsv")
_LINES = (".jsonl", ".ndjson")
_DOCUMENT = ".json"
_NAMES_SHOWN = 12


@dataclass(frozen=True)
class RecordSettings:
    """Which fields of a record are what.

    Attributes:
        id_field: The field whose value names a record.
        vector_fields: The fields that are searched.
        meta_fields: The fields that are told with a result. Those that a record lacks are looked
            for in what it stands in, from the inside out.
        field_separator: Stands between several searched fields.
        delimiter: Stands between the cells of a CSV file; None tells it from the first lines.
        record_path: Where in a JSON document the records are, such as ``data.items``; None means
            the document itself.
        record_prefix: Stands before the names of a record's own fields in results.
        meta_prefix: Stands before the names of fields that are around it.
    """

    id_field: str
    vector_fields: tuple[str, ...]
    meta_fields: tuple[str, ...] = ()
    field_separator: str = "\n"
    delimiter: str | None = None
    record_path: str | None = None
    record_prefix: str = ""
    meta_prefix: str = ""


@dataclass(frozen=True)
class Record:
    """One record.

    Attributes:
        id: What names it.
        content: What is searched.
        metadata: Names and values that are told with it.
    """

    id: str
    content: str
    metadata: tuple[tuple[str, str], ...] = ()


def records_in(name: str, data: bytes, settings: RecordSettings) -> list[Record]:
    """The records of a file; those without anything to search are left out.

    Args:
        name: Its ending tells whether it is CSV, JSON or JSON Lines.
        data: The whole file.
        settings: Which fields are what.

    Raises:
        UnreadableError: It is damaged, of another format, or its records lack a field.
    """
    found: dict[str, Record] = {}
    for number, (fields, around) in enumerate(_rows(name, as_text(data), settings), start=1):
        record = _record(fields, around, settings, number)
        if record.id in found:
            raise UnreadableError(
                f"two records have the {settings.id_field} {record.id!r} (the second one is "
                f"record {number}); an id names one"
            )
        found[record.id] = record
    return [record for record in found.values() if record.content.strip()]


_Around = Sequence[Mapping[str, Any]]


def _rows(
    name: str, text: str, settings: RecordSettings
) -> Iterator[tuple[Mapping[str, Any], _Around]]:
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in _TABLES:
        delimiter = settings.delimiter or delimiter_of(text)
        for row in csv.DictReader(io.StringIO(text), delimiter=delimiter):
            yield {key: value for key, value in row.items() if key is not None}, ()
    elif suffix in _LINES:
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                yield _object(_parsed(line, f"line {number}"), f"line {number}"), ()
    elif suffix == _DOCUMENT:
        yield from _inside(_parsed(text, "it"), settings.record_path)
    else:
        raise UnreadableError(
            "it holds no records: with vector_field, .csv, .tsv, .json, .jsonl and .ndjson files "
            "are read"
        )


def _inside(document: Any, path: str | None) -> Iterator[tuple[Mapping[str, Any], _Around]]:
    around: list[Mapping[str, Any]] = []
    here = document
    for step in path.split(".") if path else ():
        if not isinstance(here, Mapping) or step not in here:
            known = ", ".join(map(str, here)) if isinstance(here, Mapping) else "no fields at all"
            raise UnreadableError(f"record_path: there is no {step!r} in it, but {known}")
        around.insert(0, here)
        here = here[step]
    rows = here if isinstance(here, list) else [here]
    for number, row in enumerate(rows, start=1):
        yield _object(row, f"record {number}"), around


def _record(
    fields: Mapping[str, Any], around: _Around, settings: RecordSettings, number: int
) -> Record:
    identifier = _plain(fields.get(settings.id_field))
    if not identifier:
        raise UnreadableError(_lacks(fields, settings.id_field, "id_field", number))
    for name in settings.vector_fields:
        if name not in fields:
            raise UnreadableError(_lacks(fields, name, "vector_field", number))
    texts = [_plain(fields[name]) for name in settings.vector_fields]
    return Record(
        identifier,
        settings.field_separator.join(text for text in texts if text),
        tuple(_told(fields, around, settings)),
    )


def _told(
    fields: Mapping[str, Any], around: _Around, settings: RecordSettings
) -> Iterator[tuple[str, str]]:
    for name in settings.meta_fields:
        if name in fields:
            yield settings.record_prefix + name, _plain(fields[name])
            continue
        outer = next((place for place in around if name in place), None)
        if outer is not None:
            yield settings.meta_prefix + name, _plain(outer[name])


def _lacks(fields: Mapping[str, Any], name: str, setting: str, number: int) -> str:
    known = ", ".join(list(map(str, fields))[:_NAMES_SHOWN])
    return f"record {number} has no {name!r} ({setting}); its fields are: {known or 'none'}"


def _object(value: Any, place: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    raise UnreadableError(f"{place} is no record with fields, but {type(value).__name__}")


def _parsed(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as cause:
        raise UnreadableError(f"{place} is no JSON ({cause})") from cause


def _plain(value: Any) -> str:
    if value is None:
        return ""
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
