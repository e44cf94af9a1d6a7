"""One SQLite file of this machine, made and opened for several programs at once."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from holodeck_backend_claude.claude.transcripts.store import (
    OPERATION_SECONDS,
    SCHEMA_VERSION,
    StoreError,
)
from holodeck_backend_claude.concurrency import in_thread

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


class SqliteFile:
    """Runs one operation after the other, each in a thread, so that a busy file delays no one.

    Args:
        path: The file; made where it is missing, for its owner alone.

    Attributes:
        path: As given.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._one_at_a_time = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """The result of ``work``.

        Raises:
            StoreError: The file cannot be opened, read or written.
        """
        return await in_thread(self._work, work)

    async def close(self) -> None:
        """Close the file; may be called twice."""
        with self._one_at_a_time:
            connection, self._connection = self._connection, None
        if connection is not None:
            await in_thread(connection.close)

    def _work(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._one_at_a_time:
            try:
                if self._connection is None:
                    self._connection = self._connect()
                return work(self._connection)
            except sqlite3.Error as cause:
                raise self.failure(str(cause)) from cause
            except OSError as cause:
                raise self.failure(cause.strerror or str(cause)) from cause

    def failure(self, why: str) -> StoreError:
        """That it cannot be used, and why."""
        return StoreError(f"the session store {self.path} cannot be used: {why}")

    def _connect(self) -> sqlite3.Connection:
        _make_private(self.path)
        connection = sqlite3.connect(
            self.path, timeout=OPERATION_SECONDS, isolation_level=None, check_same_thread=False
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
            raise self.failure("it was written by a newer version of holodeck-backend-claude")
        with transaction(connection):
            for statement in _TABLES.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of what is done in here, or nothing of it."""
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
