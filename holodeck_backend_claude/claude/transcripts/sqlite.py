"""Transcripts in one SQLite file of this machine, for several programs at once."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from holodeck_backend_claude.claude.transcripts.claims import FileClaims
from holodeck_backend_claude.claude.transcripts.sqlite_file import BusyError, SqliteFile
from holodeck_backend_claude.claude.transcripts.sqlite_schema import transaction
from holodeck_backend_claude.claude.transcripts.store import (
    ConversationGoneError,
    StoreError,
    columns_of,
    entries_of,
    now_ms,
    rows_of,
    stored_session,
    title_of,
)

if TYPE_CHECKING:
    from claude_agent_sdk import SessionKey, SessionStoreEntry, SessionStoreListEntry
    from claude_agent_sdk.types import SessionListSubkeysKey

    from holodeck_backend_claude.contract import StoredSession


class SqliteStore:
    """See :class:`~holodeck_backend_claude.claude.transcripts.store.TranscriptStore`.

    Args:
        path: The file; made where it is missing, for its owner alone.
    """

    def __init__(self, path: Path) -> None:
        self._file = SqliteFile(path)
        self._claims = FileClaims(path.with_name(f"{path.name}-in-use"))

    @property
    def place(self) -> str:
        """The path of the file."""
        return str(self._file.path)

    async def append(
        self,
        key: SessionKey,
        entries: list[SessionStoreEntry],
        *,
        batch: str | None = None,
        goes_on: bool = False,
    ) -> None:
        """Add entries, all of them or none."""
        if not entries:
            return
        self._keep_claims()
        name = batch or uuid4().hex
        if not await self._file.run(
            lambda connection: _append(connection, key, entries, name, goes_on=goes_on)
        ):
            raise ConversationGoneError(str(self._file.failure("the conversation was removed")))

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """The entries in the order they were added; None where there are none."""
        query = (
            "SELECT entry FROM entries WHERE project = ? AND session_id = ? AND subpath = ?"
            " ORDER BY position"
        )
        texts = await self._file.run(lambda found: found.execute(query, columns_of(key)).fetchall())
        return entries_of(text for (text,) in texts)

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """The ids of a project's conversations, and when each was last written."""
        query = "SELECT session_id, used_ms FROM sessions WHERE project = ?"
        rows = await self._file.run(lambda found: found.execute(query, (project_key,)).fetchall())
        return [{"session_id": session_id, "mtime": used} for session_id, used in rows]

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """The ``subpath`` of each subagent of a conversation."""
        query = (
            "SELECT DISTINCT subpath FROM entries"
            " WHERE project = ? AND session_id = ? AND subpath <> ''"
        )
        both = (key["project_key"], key["session_id"])
        rows = await self._file.run(lambda found: found.execute(query, both).fetchall())
        return [subpath for (subpath,) in rows]

    async def delete(self, key: SessionKey) -> None:
        """Remove a conversation with its subagents, or with ``subpath`` only that one."""
        await self._file.run(lambda connection: _delete(connection, key))
        with contextlib.suppress(StoreError):  # somebody reads on and on: it is emptied later
            await self._file.run(_empty_log)

    async def overview(self, project_key: str) -> list[StoredSession]:
        """A project's conversations, the last used first."""
        query = (
            "SELECT session_id, title, started_ms, used_ms FROM sessions WHERE project = ?"
            " ORDER BY used_ms DESC"
        )
        rows = await self._file.run(lambda found: found.execute(query, (project_key,)).fetchall())
        return [stored_session(*row) for row in rows]

    async def claim(self, key: SessionKey) -> bool:
        """Keep a conversation for this store object alone."""
        try:
            return self._claims.take(columns_of(key))
        except OSError as cause:
            raise self._claims_failure(cause) from cause

    async def release(self, key: SessionKey) -> None:
        """Give up a claim."""
        self._claims.drop(columns_of(key))

    async def close(self) -> None:
        """Close the file and give up every claim; may be called twice."""
        await self._file.close()
        self._claims.drop_all()

    def _keep_claims(self) -> None:
        try:
            if self._claims.keep():
                return
        except OSError as cause:
            raise self._claims_failure(cause) from cause
        raise self._file.failure(
            f"{self._claims.folder} was removed, and meanwhile another program took the "
            f"conversation"
        )

    def _claims_failure(self, cause: OSError) -> StoreError:
        return self._file.failure(
            f"which of its conversations are in use is kept in the folder {self._claims.folder}, "
            f"which cannot be written: {cause.strerror or cause}"
        )


def _append(
    connection: sqlite3.Connection,
    key: SessionKey,
    entries: list[SessionStoreEntry],
    batch: str,
    *,
    goes_on: bool,
) -> bool:
    """Add entries; False where a conversation is to go on that is not there."""
    project, session_id, subpath = columns_of(key)
    now = now_ms()
    with transaction(connection):
        if goes_on and not _is_there(connection, project, session_id):
            return False
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
    return True


def _is_there(connection: sqlite3.Connection, project: str, session_id: str) -> bool:
    query = "SELECT 1 FROM sessions WHERE project = ? AND session_id = ?"
    return connection.execute(query, (project, session_id)).fetchone() is not None


def _delete(connection: sqlite3.Connection, key: SessionKey) -> None:
    project, session_id, subpath = columns_of(key)
    with transaction(connection):
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


def _empty_log(connection: sqlite3.Connection) -> None:
    """Remove what was deleted from the write-ahead log, where it still is."""
    (is_busy, *_pages) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if is_busy:
        raise BusyError("database is locked")
