"""One SQLite file of this machine, opened for several programs at once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from holodeck_backend_claude.claude.transcripts import sqlite_schema
from holodeck_backend_claude.claude.transcripts.claims import make_private
from holodeck_backend_claude.claude.transcripts.store import OPERATION_SECONDS, StoreError
from holodeck_backend_claude.concurrency import in_thread, wait_out

T = TypeVar("T")

_BETWEEN_TRIES = 0.02  # seconds
_LAST_TRY = 5.0  # seconds that a try may take to end once nobody waits for it any longer


class BusyError(sqlite3.OperationalError):
    """Somebody else is using the file: the operation is to be tried again."""

    sqlite_errorcode = sqlite3.SQLITE_BUSY


class SqliteFile:
    """Runs each operation in a thread, so that a busy file delays no one.

    A file that was removed or replaced while it was open is made, or opened, again.

    Args:
        path: The file; made where it is missing, for its owner alone.

    Attributes:
        path: As given.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._one_at_a_time = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._open: os.stat_result | None = None  # what the connection writes to
        self._closed = False

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """The result of ``work``; while the file is locked it is tried again and again.

        Raises:
            StoreError: The file cannot be opened, read or written.
        """
        given_up = threading.Event()
        task = asyncio.create_task(in_thread(self._try, work, given_up))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            given_up.set()
            await _see_it_end(task)
            raise

    async def close(self) -> None:
        """Close the file and end what waits for it; it is not opened again. May be called twice."""
        self._closed = True
        await _see_it_end(asyncio.create_task(in_thread(self._disconnect)))

    def failure(self, why: str) -> StoreError:
        """That it cannot be used, and why."""
        return StoreError(f"the session store {self.path} cannot be used: {why}")

    def _try(self, work: Callable[[sqlite3.Connection], T], given_up: threading.Event) -> T:
        # SQLite's own wait for a lock cannot be ended, and each of its steps would wait anew
        until = time.monotonic() + OPERATION_SECONDS
        while True:
            try:
                with self._one_at_a_time:
                    return work(self._connected())
            except sqlite3.Error as cause:
                code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
                over = self._closed or given_up.is_set() or time.monotonic() > until
                if code != sqlite3.SQLITE_BUSY or over:
                    raise self.failure(self._described(cause, code)) from cause
            except OSError as cause:
                raise self.failure(cause.strerror or str(cause)) from cause
            given_up.wait(_BETWEEN_TRIES)

    def _connected(self) -> sqlite3.Connection:
        if self._closed:
            raise self.failure("it was closed")
        if self._connection is None or not self._is_at_path():
            self._let_go()
            self._connect()
        assert self._connection is not None  # noqa: S101  or an error was raised
        return self._connection

    def _is_at_path(self) -> bool:
        """Whether others that open the path see what we write."""
        with contextlib.suppress(FileNotFoundError):
            found = self.path.stat()  # one that is empty was cut off: ours has its header
            return bool(self._open and found.st_size and os.path.samestat(self._open, found))
        return False

    def _connect(self) -> None:
        _make(self.path)
        self._open = self.path.stat()
        connection = sqlite3.connect(
            self.path, timeout=0, isolation_level=None, check_same_thread=False
        )
        try:
            sqlite_schema.prepare(connection, self.failure)
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    def _disconnect(self) -> None:
        with self._one_at_a_time:
            self._let_go()

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _described(self, cause: sqlite3.Error, code: int) -> str:
        if self._closed:
            return "it was closed"
        if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            return f"{cause}{_what_is_in_the_way(self.path)}"
        if code == sqlite3.SQLITE_BUSY:
            return f"another program does not let go of it: {cause}"
        return str(cause)


async def _see_it_end(task: asyncio.Task[T]) -> None:
    """Wait for a thread that ends by itself, unless the disk hangs."""
    await wait_out(task, seconds=_LAST_TRY)
    if not task.done():
        task.cancel()
    elif not task.cancelled():
        task.exception()  # nobody asks for it any longer


def _what_is_in_the_way(path: Path) -> str:
    """Why SQLite cannot open a file for writing, as far as it can be seen; or nothing."""
    with contextlib.suppress(OSError):
        if path.is_dir():
            return ": it is a folder"
        if sys.platform != "win32" and os.statvfs(path.parent).f_flag & os.ST_RDONLY:
            return f": {path.parent} is on a disk that can only be read"
        for each, what in ((path.parent, "make files in the folder"), (path, "write")):
            if not os.access(each, os.W_OK):
                return f": this user may not {what} {each}"
    return ""


def _make(path: Path) -> None:
    """Make the file and the folders that are missing, for their owner alone."""
    make_private(path.parent)
    if path.parent.name == ".holodeck":
        ignore = path.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
