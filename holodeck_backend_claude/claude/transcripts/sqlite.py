"""Transcripts in one SQLite file of this machine, for several programs at once."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from holodeck_backend_claude.claude.transcripts.claims import FileClaims
from holodeck_backend_claude.claude.transcripts.store import (
    OPERATION_SECONDS,
    SCHEMA_VERSION,
    StoreError,
    columns_of,
    entries_of,
    now_ms,
    rows_of,
    stored_session,
    title_of,
)
from holodeck_backend_claude.concurrency import in_thread

if TYPE_CHECKING:
    from claude_agent_sdk import SessionKey, SessionStoreEntry, SessionStoreListEntry
    from claude_agent_sdk.types import SessionListSubkeysKey

    from holodeck_backend_claude.contract import StoredSession

T = TypeVar("T")

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


class SqliteStore:
    """See :class:`~holodeck_backend_claude.claude.transcripts.store.TranscriptStore`.

    Each operation runs in a thread of its own, so that a file that is busy delays no one else.

    Args:
        path: The file; made where it is missing, for its owner alone.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._claims = FileClaims(path.with_name(f"{path.name}-in-use"))
        self._one_at_a_time = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    @property
    def place(self) -> str:
        """The path of the file."""
        return str(self._path)

    async def append(
        self, key: SessionKey, entries: list[SessionStoreEntry], *, batch: str | None = None
    ) -> None:
        """Add entries, all of them or none."""
        if entries:
            name = batch or uuid4().hex
            await self._run(lambda connection: _append(connection, key, entries, name))

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """The entries in the order they were added; None where there are none."""
        query = (
            "SELECT entry FROM entries WHERE project = ? AND session_id = ? AND subpath = ?"
            " ORDER BY position"
        )
        texts = await self._run(lambda found: found.execute(query, columns_of(key)).fetchall())
        return entries_of(text for (text,) in texts)

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """The ids of a project's conversations, and when each was last written."""
        query = "SELECT session_id, used_ms FROM sessions WHERE project = ?"
        rows = await self._run(lambda found: found.execute(query, (project_key,)).fetchall())
        return [{"session_id": session_id, "mtime": used} for session_id, used in rows]

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """The ``subpath`` of each subagent of a conversation."""
        query = (
            "SELECT DISTINCT subpath FROM entries"
            " WHERE project = ? AND session_id = ? AND subpath <> ''"
        )
        both = (key["project_key"], key["session_id"])
        rows = await self._run(lambda found: found.execute(query, both).fetchall())
        return [subpath for (subpath,) in rows]

    async def delete(self, key: SessionKey) -> None:
        """Remove a conversation with its subagents, or with ``subpath`` only that one."""
        await self._run(lambda connection: _delete(connection, key))

    async def overview(self, project_key: str) -> list[StoredSession]:
        """A project's conversations, the last used first."""
        query = (
            "SELECT session_id, title, started_ms, used_ms FROM sessions WHERE project = ?"
            " ORDER BY used_ms DESC"
        )
        rows = await self._run(lambda found: found.execute(query, (project_key,)).fetchall())
        return [stored_session(*row) for row in rows]

    async def claim(self, key: SessionKey) -> bool:
        """Keep a conversation for this store object alone."""
        try:
            return self._claims.take(columns_of(key))
        except OSError as cause:
            raise self._failure(cause.strerror or str(cause)) from cause

    async def release(self, key: SessionKey) -> None:
        """Give up a claim."""
        self._claims.drop(columns_of(key))

    async def close(self) -> None:
        """Close the file and give up every claim; may be called twice."""
        with self._one_at_a_time:
            connection, self._connection = self._connection, None
        if connection is not None:
            await in_thread(connection.close)
        self._claims.drop_all()

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await in_thread(self._work, work)

    def _work(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._one_at_a_time:
            try:
                if self._connection is None:
                    self._connection = self._connect()
                return work(self._connection)
            except sqlite3.Error as cause:
                raise self._failure(str(cause)) from cause
            except OSError as cause:
                raise self._failure(cause.strerror or str(cause)) from cause

    def _failure(self, why: str) -> StoreError:
        return StoreError(f"the session store {self._path} cannot be used: {why}")

    def _connect(self) -> sqlite3.Connection:
        _make_private(self._path)
        connection = sqlite3.connect(
            self._path, timeout=OPERATION_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            _let_readers_and_writers_meet(connection)
            connection.execute("PRAGMA synchronous = FULL")  # a turn that ended outlives a crash
            connection.execute("PRAGMA secure_delete = ON")
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == SCHEMA_VERSION:
            return
        if version > SCHEMA_VERSION:
            raise self._failure("it was written by a newer version of holodeck-backend-claude")
        with _transaction(connection):
            for statement in _TABLES.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _let_readers_and_writers_meet(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log, which SQLite does not wait for as it does for other locks."""
    deadline = time.monotonic() + OPERATION_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as cause:
            if "locked" not in str(cause) or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def _append(
    connection: sqlite3.Connection, key: SessionKey, entries: list[SessionStoreEntry], batch: str
) -> None:
    project, session_id, subpath = columns_of(key)
    now = now_ms()
    with _transaction(connection):
        changed = connection.execute(
            "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (project, session_id) DO UPDATE SET used_ms = excluded.used_ms,"
            " last_batch = excluded.last_batch,"
            " title = CASE title WHEN '' THEN excluded.title ELSE title END"
            " WHERE last_batch <> excluded.last_batch",
            (project, session_id, "" if subpath else title_of(entries), now, now, batch),
        ).rowcount
        if changed:
            connection.executemany(
                "INSERT INTO entries (project, session_id, subpath, uuid, entry)"
                " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [(project, session_id, subpath, *row) for row in rows_of(entries)],
            )


def _delete(connection: sqlite3.Connection, key: SessionKey) -> None:
    project, session_id, subpath = columns_of(key)
    with _transaction(connection):
        if subpath:
            connection.execute(
                "DELETE FROM entries WHERE project = ? AND session_id = ? AND subpath = ?",
                (project, session_id, subpath),
            )
        else:
            for table in ("entries", "sessions"):
                connection.execute(
                    f"DELETE FROM {table} WHERE project = ? AND session_id = ?",  # noqa: S608
                    (project, session_id),
                )
    # what was deleted is still in the write-ahead log until it is emptied
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _make_private(path: Path) -> None:
    """Make the file and the folders that are missing, for their owner alone."""
    for parent in [*reversed(path.parents)]:
        if not parent.exists():
            parent.mkdir(mode=0o700, exist_ok=True)
    if path.parent.name == ".holodeck":
        ignore = path.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
