"""What stands in an index: files, chunks, vectors, and the questions asked of them."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holodeck_backend_claude.retrieval.documents.chunking import Chunk
from holodeck_backend_claude.retrieval.documents.kinds import Kind
from holodeck_backend_claude.retrieval.ranking.keywords import index_text
from holodeck_backend_claude.retrieval.sources import SourceFile


@dataclass(frozen=True)
class StoredFile:
    """A file as the index knows it.

    Attributes:
        id: Its row.
        path: Relative to the source folder.
        status: Size, mtime and ctime when it was read, in bytes and nanoseconds.
        read_ns: When it was read.
        sha256: Of its bytes.
        cause: Why it has no chunks, where it has none.
    """

    id: int
    path: str
    status: tuple[int, int, int]
    read_ns: int
    sha256: bytes
    cause: str | None


@dataclass(frozen=True)
class StoredChunk:
    """A chunk as the index knows it; ``id`` is its row, ``path`` its document.

    ``references`` are pairs of label and section id.
    """

    id: int
    path: str
    ordinal: int
    content: str
    parent_chain: list[str]
    section_id: str
    kind: Kind
    subsection_ids: list[str]
    references: list[tuple[str, str]]
    record_id: str
    metadata: dict[str, str]


# ------------------------------------------------------------------------------------------- meta


def meta(db: sqlite3.Connection, key: str) -> str | int | None:
    """A value of the index itself."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return row[0] if row else None


def set_meta(db: sqlite3.Connection, key: str, value: str) -> None:
    """Set a value of the index itself."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def state(db: sqlite3.Connection) -> tuple[str, int]:
    """Which index this is, and how often it was changed."""
    return str(meta(db, "index_id")), int(meta(db, "generation") or 0)


# ------------------------------------------------------------------------------------------ files


def stored_files(db: sqlite3.Connection) -> dict[str, StoredFile]:
    """All files, by path."""
    rows = db.execute(
        "SELECT id, path, size, mtime_ns, ctime_ns, read_ns, sha256, cause FROM files"
    )
    return {
        path: StoredFile(number, path, (size, mtime, ctime), read, sha256, cause)
        for number, path, size, mtime, ctime, read, sha256, cause in rows
    }


def remove_file(db: sqlite3.Connection, path: str) -> None:
    """Remove a file and all its chunks; nothing happens if it is not there."""
    db.execute(
        "DELETE FROM keywords WHERE rowid IN"
        " (SELECT c.id FROM chunks c JOIN files f ON f.id = c.file_id WHERE f.path = ?)",
        (path,),
    )
    db.execute("DELETE FROM files WHERE path = ?", (path,))


def add_file(
    db: sqlite3.Connection, file: SourceFile, read_ns: int, sha256: bytes, cause: str | None
) -> int:
    """Add a file without chunks; returns its row."""
    added = db.execute(
        "INSERT INTO files (path, size, mtime_ns, ctime_ns, read_ns, sha256, cause)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (file.path, file.size, file.mtime_ns, file.ctime_ns, read_ns, sha256, cause),
    )
    return int(added.lastrowid or 0)


def touch_file(db: sqlite3.Connection, file_id: int, file: SourceFile, read_ns: int) -> None:
    """Note that a file was read again and is the same."""
    db.execute(
        "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, read_ns = ? WHERE id = ?",
        (file.size, file.mtime_ns, file.ctime_ns, read_ns, file_id),
    )


def add_chunks(db: sqlite3.Connection, file_id: int, chunks: Iterable[Chunk]) -> None:
    """Add the chunks of a file, findable by keyword at once."""
    for ordinal, chunk in enumerate(chunks):
        added = db.execute(
            "INSERT INTO chunks"
            " (file_id, ordinal, content, context, parent_chain, section_id, kind, subsection_ids,"
            " refers_to, record_id, metadata, text_hash)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                file_id,
                ordinal,
                chunk.content,
                chunk.context,
                json.dumps(chunk.parent_chain, ensure_ascii=False),
                chunk.section_id,
                chunk.kind,
                json.dumps(chunk.subsection_ids, ensure_ascii=False),
                json.dumps([(r.label, r.section_id) for r in chunk.references], ensure_ascii=False),
                chunk.record_id,
                json.dumps(chunk.metadata, ensure_ascii=False),
                hashlib.sha256(chunk.searchable.encode()).digest(),
            ),
        )
        db.execute(
            "INSERT INTO keywords (rowid, text) VALUES (?, ?)",
            (added.lastrowid, index_text(chunk.searchable)),
        )


def clear(db: sqlite3.Connection) -> None:
    """Remove all files and chunks; vectors stay, for texts that come again."""
    db.execute("DELETE FROM keywords")
    db.execute("DELETE FROM definitions")
    db.execute("DELETE FROM chunks")
    db.execute("DELETE FROM files")


def counts(db: sqlite3.Connection) -> tuple[int, int]:
    """How many files with text there are, and how many chunks."""
    (files,) = db.execute("SELECT count(*) FROM files WHERE cause IS NULL").fetchone()
    (chunks,) = db.execute("SELECT count(*) FROM chunks").fetchone()
    return files, chunks


# ----------------------------------------------------------------------------------------- chunks


def keyword_matches(db: sqlite3.Connection, expression: str, limit: int) -> list[tuple[int, float]]:
    """The chunks that match an FTS5 expression best, with their BM25 scores, highest first."""
    if not expression:
        return []
    rows = db.execute(
        "SELECT rowid, -rank FROM keywords WHERE keywords MATCH ? ORDER BY rank LIMIT ?",
        (expression, limit),
    )
    return [(number, score) for number, score in rows]


def chunks_of_section(db: sqlite3.Connection, section_id: str, limit: int) -> list[int]:
    """The chunks of the sections with this id, whatever its case, in the order of documents."""
    rows = db.execute(
        "SELECT id FROM chunks WHERE section_id = ? COLLATE NOCASE ORDER BY id LIMIT ?",
        (section_id, limit),
    )
    return [number for (number,) in rows]


def searchable_texts(db: sqlite3.Connection, chunk_ids: Iterable[int]) -> Mapping[int, str]:
    """What of these chunks is searched and embedded, by their row."""
    rows = db.execute(
        "SELECT id, content, context FROM chunks WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(chunk_ids)),),
    )
    return {number: Chunk(content, context=context).searchable for number, content, context in rows}


def text_of(db: sqlite3.Connection, text_hash: bytes) -> str | None:
    """What is searched and embedded of the chunks with this hash; None where there are none."""
    row = db.execute(
        "SELECT content, context FROM chunks WHERE text_hash = ? LIMIT 1", (text_hash,)
    ).fetchone()
    return Chunk(row[0], context=row[1]).searchable if row else None


def chunks(db: sqlite3.Connection, chunk_ids: Iterable[int]) -> Mapping[int, StoredChunk]:
    """These chunks by their row; one that is gone is left out."""
    rows = db.execute(
        "SELECT c.id, f.path, c.ordinal, c.content, c.parent_chain, c.section_id, c.kind,"
        " c.subsection_ids, c.refers_to, c.record_id, c.metadata"
        " FROM chunks c JOIN files f ON f.id = c.file_id"
        " WHERE c.id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(chunk_ids)),),
    )
    return {row[0]: _stored_chunk(row) for row in rows}


def _stored_chunk(row: Sequence[Any]) -> StoredChunk:
    number, path, ordinal, content, chain, section, kind, below, refers_to, record, told = row
    return StoredChunk(
        number,
        path,
        ordinal,
        content,
        json.loads(chain),
        section,
        kind,
        json.loads(below),
        [(label, target) for label, target in json.loads(refers_to)],
        record,
        dict(json.loads(told)),
    )
