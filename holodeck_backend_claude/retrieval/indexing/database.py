"""The SQLite file of an index: created, checked, set aside when damaged, and its transactions."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, SimpleQueue

from holodeck_backend_claude.retrieval.errors import RetrievalError
from holodeck_backend_claude.retrieval.indexing.schema import DamagedIndexError, prepare

_BUSY_SECONDS = 60.0
_CORRUPT, _NOT_A_DATABASE = 11, 26  # SQLite's result codes
_INCOMPLETE = re.compile("no such (table|column)|has no column")


class Database:
    """The file of one index; may be used by several threads and processes at once.

    Args:
        path: Where it is or shall be. Its folder belongs to the index alone.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._idle: SimpleQueue[tuple[sqlite3.Connection, os.stat_result]] = SimpleQueue()
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
        if self._file is None or not (self._is_open and self.has_at_its_place(self._file)):
            self.close()  # otherwise who works with it just now may go on
        try:
            # An existing file is not opened here: closing it again would drop the locks that
            # SQLite holds on it for this process.
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            if not self.path.is_file():
                raise RetrievalError(f"cannot write the index {self.path}: it is no file")
            self.path.chmod(0o600)
            self._file = self.path.stat()
        except OSError as cause:
            raise RetrievalError(f"cannot write the index {self.path}: {cause.strerror}") from cause
        with self._guarded(self._file):
            connection = self._connect()
            try:
                prepare(connection, self.path)
            except BaseException:
                connection.close()
                raise
            self._idle.put((connection, self._file))
            self._is_open = True

    def close(self) -> None:
        """Close the connections, those in use after their work; may be called twice."""
        self._is_open = False
        with contextlib.suppress(Empty):
            while True:
                self._idle.get_nowait()[0].close()

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent view of the index."""
        with self._connection() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.rollback()

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A change that is made as a whole or not at all, and that counts up the generation."""
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
                connection.commit()
            except BaseException:
                connection.rollback()
                raise

    def has_at_its_place(self, file: os.stat_result) -> bool:
        """Whether this very file is at the path; False once it was replaced."""
        try:
            return os.path.samestat(file, self.path.stat())
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
    def _guarded(self, file: os.stat_result) -> Iterator[None]:
        """Errors of SQLite as errors that say what to do; ``file`` is what it works on."""
        try:
            yield
        except sqlite3.Error as cause:
            code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
            is_broken = code in {_CORRUPT, _NOT_A_DATABASE} or _INCOMPLETE.search(str(cause))
            if is_broken or not self.has_at_its_place(file):
                raise DamagedIndexError(f"it is damaged ({cause})", file=file) from cause
            raise RetrievalError(f"the index {self.path} cannot be used: {cause}") from cause

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        file = self._file
        if not self._is_open or file is None:
            raise RetrievalError(f"the index {self.path} is closed")
        try:
            connection, file = self._idle.get_nowait()
        except Empty:
            with self._guarded(file):
                connection = self._connect()
        try:
            with self._guarded(file):
                yield connection
        except BaseException:
            connection.close()  # it may be what is broken
            raise
        self._give_back(connection, file)

    def _give_back(self, connection: sqlite3.Connection, file: os.stat_result) -> None:
        if self._file is not None and os.path.samestat(file, self._file):
            self._idle.put((connection, file))
        else:
            connection.close()
        if not self._is_open:  # closed meanwhile
            self.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=rw", uri=True, timeout=_BUSY_SECONDS,
            isolation_level=None, check_same_thread=False,
        )  # fmt: skip
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = NORMAL")
        except sqlite3.Error:
            connection.close()
            raise
        return connection
