"""The tables of the SQLite store: made in an empty file, and never in that of another program."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator

from holodeck_backend_claude.claude.transcripts.store import SCHEMA_VERSION, StoreError

_TABLES = """
CREATE TABLE IF NOT EXISTS sessions (
    project TEXT NOT NULL,
    session_id TEXT NOT NULL,
    title TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    used_ms INTEGER NOT NULL,
    last_batch TEXT NOT NULL,
    PRIMARY KEY (project, session_id)
) STRICT;
CREATE TABLE IF NOT EXISTS entries (
    position INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    session_id TEXT NOT NULL,
    subpath TEXT NOT NULL,
    uuid TEXT,
    entry TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS entries_in_order ON entries (project, session_id, subpath, position);
CREATE UNIQUE INDEX IF NOT EXISTS entries_once
    ON entries (project, session_id, subpath, uuid) WHERE uuid IS NOT NULL;
"""
_NAMES = {"sessions", "entries", "entries_in_order", "entries_once"}


def prepare(connection: sqlite3.Connection, failure: Callable[[str], StoreError]) -> None:
    """Set a connection up, and make the tables where the file is empty.

    Args:
        connection: In autocommit mode.
        failure: Makes the error for what is wrong.

    Raises:
        StoreError: The file is another program's, or of a newer version; it is left as it is.
    """
    version, names = _found(connection)
    is_empty, is_ours = version == 0 and not names, version > 0 and names >= _NAMES
    if not (is_empty or is_ours):
        raise failure(
            "the file is no session store of holodeck-backend-claude; name another file in "
            "claude.sessions.path"
        )
    if version > SCHEMA_VERSION:
        raise failure("it was written by a newer version of holodeck-backend-claude")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")  # a turn that ended outlives a crash
    connection.execute("PRAGMA secure_delete = ON")
    if is_empty:
        with transaction(connection):  # somebody may have made them meanwhile
            for statement in _TABLES.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _found(connection: sqlite3.Connection) -> tuple[int, set[str]]:
    """The version and the names in a file, read at one moment and without a change to it."""
    with transaction(connection, "DEFERRED"):
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        return version, {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """All of what is done in here, or nothing of it."""
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
