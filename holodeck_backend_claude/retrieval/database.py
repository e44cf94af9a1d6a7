"""The SQLite file of an index: created, checked, set aside when damaged, and its transactions."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import uuid
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, SimpleQueue

from holodeck_backend_claude.retrieval.errors import RetrievalError
from holodeck_backend_claude.retrieval.keywords import TOKENIZER

log = logging.getLogger(__name__)

SCHEMA_VERSION = 1
_APPLICATION_ID = 0x484F4C58
_BUSY_SECONDS = 60.0
_CORRUPT, _NOT_A_DATABASE = 11, 26  # SQLite's result codes

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
    text_hash BLOB NOT NULL,          -- of what is embedded: context and content
    failure TEXT                      -- why it has no vector, after a failed call
);
CREATE INDEX chunks_of_file ON chunks (file_id);
CREATE INDEX chunks_of_text ON chunks (text_hash);
CREATE VIRTUAL TABLE keywords USING fts5 (text, tokenize = "{TOKENIZER}");
CREATE TABLE embedders (id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE);
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY,
    embedder_id INTEGER NOT NULL REFERENCES embedders,
    text_hash BLOB NOT NULL,
    vector BLOB NOT NULL,             -- float16, little-endian, of length 1
    UNIQUE (embedder_id, text_hash)
);
"""


class DamagedIndexError(RetrievalError):
    """The file is broken or is no index of ours; it can be set aside and built anew.

    The message is a cause, which stands behind the name of the file.
    """


class Database:
    """The file of one index; may be used by several threads and processes at once.

    Args:
        path: Where it is or shall be. Its folder belongs to the index alone.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._idle: SimpleQueue[sqlite3.Connection] = SimpleQueue()
        self._is_open = False
        self._file: os.stat_result | None = None

    def make_folder(self) -> None:
        """Make the folder of the index, for its owner alone and out of version control.

        Raises:
            RetrievalError: It cannot be made or written.
        """
        folder = self.path.parent
        try:
            for parent in [*reversed(folder.parents), folder]:
                if not parent.exists():
                    parent.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(0o700)
            ignore = folder / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")
        except OSError as cause:
            raise RetrievalError(
                f"cannot write the index folder {folder}: {cause.strerror}"
            ) from cause

    def open(self) -> None:
        """Make the file where there is none, and check the one that is there.

        Raises:
            DamagedIndexError: The file is broken or is no index.
            RetrievalError: It cannot be opened, is of a newer version, or SQLite lacks FTS5.
        """
        self.close()
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            self.path.chmod(0o600)
            self._file = os.fstat(descriptor)
            os.close(descriptor)
        except OSError as cause:
            raise RetrievalError(f"cannot write the index {self.path}: {cause.strerror}") from cause
        self._refuse_if_cut_short()
        with self._guarded():
            connection = self._connect()
            try:
                _prepare(connection, self.path)
            except BaseException:
                connection.close()
                raise
            self._is_open = True
            self._idle.put(connection)

    def close(self) -> None:
        """Close the connections, those in use after their work; may be called twice."""
        self._is_open = False
        with contextlib.suppress(Empty):
            while True:
                self._idle.get_nowait().close()

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent view of the index."""
        with self._guarded(), self._connection() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.rollback()

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A change that is made as a whole or not at all, and that counts up the generation."""
        with self._guarded(), self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
                connection.commit()
            except BaseException:
                connection.rollback()
                raise

    def is_the_file_opened(self) -> bool:
        """False if the file was replaced since, for example by another process."""
        try:
            return self._file is not None and os.path.samestat(self._file, self.path.stat())
        except OSError:
            return False

    def set_aside(self) -> Path:
        """Move the file out of the way, and all that belongs to it; returns where it is now."""
        self.close()
        aside = self.path.with_name(f"{self.path.name}.damaged")
        for suffix in ("-wal", "-shm", ""):
            with contextlib.suppress(FileNotFoundError):
                os.replace(f"{self.path}{suffix}", f"{aside}{suffix}")  # noqa: PTH105
        return aside

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """Errors of SQLite as errors that say what to do."""
        try:
            yield
        except sqlite3.Error as cause:
            code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
            if code in {_CORRUPT, _NOT_A_DATABASE}:
                raise DamagedIndexError(f"it is damaged ({cause})") from cause
            raise RetrievalError(f"the index {self.path} cannot be used: {cause}") from cause

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        if not self._is_open:
            raise RetrievalError(f"the index {self.path} is closed")
        try:
            connection = self._idle.get_nowait()
        except Empty:
            connection = self._connect()
        try:
            yield connection
        except BaseException:
            connection.close()  # it may be what is broken
            raise
        self._give_back(connection)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        self._idle.put(connection)
        if not self._is_open:  # closed meanwhile
            self.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=rw", uri=True, timeout=_BUSY_SECONDS,
            isolation_level=None, check_same_thread=False,
        )  # fmt: skip
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    def _refuse_if_cut_short(self) -> None:
        """SQLite notices missing pages only when it comes to read them."""
        wal = self.path.with_name(f"{self.path.name}-wal")
        if wal.exists() and wal.stat().st_size:
            return  # what is missing may be there
        with self.path.open("rb") as file:
            head = file.read(100)
        if len(head) < 100:
            return
        page_size = int.from_bytes(head[16:18], "big")
        pages = int.from_bytes(head[28:32], "big")
        if self.path.stat().st_size < pages * (65_536 if page_size == 1 else page_size):
            raise DamagedIndexError("it is damaged (cut short)")


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables in an empty file; refuse what is no index of this version."""
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not application_id and not version and not tables:
        _create(connection)
    elif application_id != _APPLICATION_ID:
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
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
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
