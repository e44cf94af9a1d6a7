"""The tables of an index, and the check that a file holds them in the version of this package."""

from __future__ import annotations

import os
import sqlite3
import uuid
from pathlib import Path

from holodeck_backend_claude.retrieval.errors import RetrievalError
from holodeck_backend_claude.retrieval.ranking.keywords import TOKENIZER

SCHEMA_VERSION = 3
APPLICATION_ID = 0x484F4C58

_SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    read_ns INTEGER NOT NULL,         -- when it was read, on the clock of the file times
    sha256 BLOB NOT NULL,
    cause TEXT                        -- why it has no chunks, where it has none
);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again, so that matrices can be refreshed
    file_id INTEGER NOT NULL REFERENCES files ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    content TEXT NOT NULL,
    context TEXT NOT NULL,
    parent_chain TEXT NOT NULL,       -- JSON
    section_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    subsection_ids TEXT NOT NULL,     -- JSON
    refers_to TEXT NOT NULL,          -- JSON: pairs of label and section id
    record_id TEXT NOT NULL,
    metadata TEXT NOT NULL,           -- JSON: pairs of name and value
    text_hash BLOB NOT NULL,          -- of what is embedded: context and content
    failure TEXT                      -- why it has no vector, after a failed call
);
CREATE INDEX chunks_of_file ON chunks (file_id);
CREATE INDEX chunks_of_text ON chunks (text_hash);
CREATE INDEX chunks_of_section ON chunks (section_id COLLATE NOCASE);
CREATE VIRTUAL TABLE keywords USING fts5 (text, tokenize = "{TOKENIZER}");
CREATE TABLE definitions (
    id INTEGER PRIMARY KEY,
    file_id INTEGER NOT NULL REFERENCES files ON DELETE CASCADE,
    term TEXT NOT NULL,
    words TEXT NOT NULL,              -- of the term, folded, with a blank around each
    text TEXT NOT NULL
);
CREATE INDEX definitions_of_file ON definitions (file_id);
CREATE TABLE embedders (id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE);
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY,
    embedder_id INTEGER NOT NULL REFERENCES embedders,
    text_hash BLOB NOT NULL,
    vector BLOB NOT NULL,             -- float16, little-endian, of length 1
    UNIQUE (embedder_id, text_hash)
);
CREATE TABLE sent (
    store TEXT NOT NULL,              -- the address of a collection
    text_hash BLOB NOT NULL,
    is_there INTEGER NOT NULL,        -- 0 while it is on its way
    PRIMARY KEY (store, text_hash)
) WITHOUT ROWID;
"""


class DamagedIndexError(RetrievalError):
    """The file is broken or is no index of ours; it can be set aside and built anew.

    The message is a cause, which stands behind the name of the file.

    Attributes:
        file: What was open, as ``os.stat`` has it; None where nothing was.
    """

    def __init__(self, message: str, *, file: os.stat_result | None = None) -> None:
        super().__init__(message)
        self.file = file


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables in an empty file; refuse what is no index of this version."""
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not application_id and not version and not tables:
        _create(connection)
    elif application_id != APPLICATION_ID:
        raise DamagedIndexError("it is a database, but no index of this package")
    elif version > SCHEMA_VERSION:
        raise RetrievalError(
            f"the index {path} was made by a newer version of holodeck-backend-claude (its format "
            f"is {version}, this version reads {SCHEMA_VERSION}): upgrade, or delete the file"
        )
    elif version < SCHEMA_VERSION:
        raise DamagedIndexError(f"it has the old format {version}")


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN EXCLUSIVE")
    try:
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables:  # another process may have been faster
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.executemany(
                "INSERT INTO meta VALUES (?, ?)",
                [("index_id", uuid.uuid4().hex), ("generation", 0)],
            )
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.commit()
    except sqlite3.Error as cause:
        connection.rollback()
        if "fts5" in str(cause):
            raise RetrievalError(
                f"SQLite {sqlite3.sqlite_version} of this Python was built without FTS5, which "
                "keyword search needs; use a Python whose SQLite has it, such as those of "
                "python.org, uv or conda"
            ) from cause
        raise
