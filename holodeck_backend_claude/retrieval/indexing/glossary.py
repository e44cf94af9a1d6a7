"""The terms that documents of an index define, and the beginnings of their sections."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from holodeck_backend_claude.retrieval.documents.definitions import Definition
from holodeck_backend_claude.retrieval.ranking.keywords import words_of


def add_definitions(
    db: sqlite3.Connection, file_id: int, definitions: Iterable[Definition]
) -> None:
    """Add the definitions of a file."""
    db.executemany(
        "INSERT INTO definitions (file_id, term, words, text) VALUES (?, ?, ?, ?)",
        [(file_id, d.term, words_of(d.term), d.text) for d in definitions],
    )


def definitions_for(
    db: sqlite3.Connection, path: str, content: str, *, most: int
) -> list[tuple[str, str]]:
    """The terms in a passage with their definitions, in the order they come up.

    Those of its own document count before those of others; what the passage says itself is left
    out.

    Args:
        db: The index.
        path: The document of the passage.
        content: The passage.
        most: How many at most.
    """
    words = words_of(content)
    rows = db.execute(
        "SELECT d.term, d.text, d.words FROM definitions d JOIN files f ON f.id = d.file_id"
        " WHERE d.words <> '' AND instr(?, d.words) > 0"
        " ORDER BY f.path <> ?, instr(?, d.words), d.id LIMIT ?",
        (words, path, words, 4 * most),
    )
    said = " ".join(content.split())
    found: dict[str, tuple[str, str]] = {}
    for term, text, key in rows:
        if text not in said:
            found.setdefault(key, (term, text))
    return list(found.values())[:most]


def beginning_of_section(db: sqlite3.Connection, path: str, section_id: str) -> str | None:
    """The first passage of a section of a document; None where there is none."""
    row = db.execute(
        "SELECT c.content FROM chunks c JOIN files f ON f.id = c.file_id"
        " WHERE f.path = ? AND c.section_id = ? ORDER BY c.ordinal LIMIT 1",
        (path, section_id),
    ).fetchone()
    return str(row[0]) if row else None
