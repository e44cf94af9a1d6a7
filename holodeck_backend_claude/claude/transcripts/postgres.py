"""Transcripts in a PostgreSQL database, for programs on several machines."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from holodeck_backend_claude.claude.transcripts.postgres_connection import PostgresConnection
from holodeck_backend_claude.claude.transcripts.store import (
    ConversationGoneError,
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

    from holodeck_backend_claude.claude.transcripts.postgres_connection import Connection
    from holodeck_backend_claude.contract import StoredSession


class PostgresStore:
    """See :class:`~holodeck_backend_claude.claude.transcripts.store.TranscriptStore`.

    It holds one connection, which is made when it is first used.

    Args:
        url: The database, as libpq understands it.

    Raises:
        StoreError: psycopg is not installed, or the URL is none.
    """

    def __init__(self, url: str) -> None:
        self._database = PostgresConnection(url)

    @property
    def place(self) -> str:
        """Name, host and port of the database."""
        return self._database.address

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
        name = batch or uuid4().hex
        if not await self._database.run(
            lambda connection: _append(connection, key, entries, name, goes_on=goes_on)
        ):
            gone = self._database.failure("the conversation was removed")
            raise ConversationGoneError(str(gone))

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """The entries in the order they were added; None where there are none."""
        rows = await self._database.rows(
            "SELECT entry FROM holodeck_session_entries"
            " WHERE project = %s AND session_id = %s AND subpath = %s ORDER BY position",
            *columns_of(key),
        )
        return entries_of(text for (text,) in rows)

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """The ids of a project's conversations, and when each was last written."""
        rows = await self._database.rows(
            "SELECT session_id, used_ms FROM holodeck_sessions WHERE project = %s", project_key
        )
        return [{"session_id": session_id, "mtime": used} for session_id, used in rows]

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """The ``subpath`` of each subagent of a conversation."""
        rows = await self._database.rows(
            "SELECT DISTINCT subpath FROM holodeck_session_entries"
            " WHERE project = %s AND session_id = %s AND subpath <> ''",
            key["project_key"],
            key["session_id"],
        )
        return [subpath for (subpath,) in rows]

    async def delete(self, key: SessionKey) -> None:
        """Remove a conversation with its subagents, or with ``subpath`` only that one."""
        await self._database.run(lambda connection: _delete(connection, key))

    async def overview(self, project_key: str) -> list[StoredSession]:
        """A project's conversations, the last used first."""
        rows = await self._database.rows(
            "SELECT session_id, title, started_ms, used_ms FROM holodeck_sessions"
            " WHERE project = %s ORDER BY used_ms DESC",
            project_key,
        )
        return [stored_session(*row) for row in rows]

    async def claim(self, key: SessionKey) -> bool:
        """Keep a conversation for this store object alone."""
        return await self._database.lock(_claim_name(key))

    async def release(self, key: SessionKey) -> None:
        """Give up a claim."""
        await self._database.unlock(_claim_name(key))

    async def close(self) -> None:
        """Close the connection and with it give up every claim; may be called twice."""
        await self._database.close()


def _claim_name(key: SessionKey) -> str:
    return "\n".join(("holodeck session", *columns_of(key)))


async def _append(
    connection: Connection,
    key: SessionKey,
    entries: list[SessionStoreEntry],
    batch: str,
    *,
    goes_on: bool,
) -> bool:
    """Add entries; False where a conversation is to go on that is not there."""
    project, session_id, subpath = columns_of(key)
    now = now_ms()
    async with connection.transaction(), connection.cursor() as cursor:
        if goes_on:
            await cursor.execute(
                "SELECT FROM holodeck_sessions WHERE project = %s AND session_id = %s",
                (project, session_id),
            )
            if not cursor.rowcount:
                return False
        await cursor.execute(
            "INSERT INTO holodeck_sessions AS old VALUES (%s, %s, %s, %s, %s, %s)"
            " ON CONFLICT (project, session_id) DO UPDATE SET used_ms = excluded.used_ms,"
            " last_batch = excluded.last_batch,"
            " title = CASE old.title WHEN '' THEN excluded.title ELSE old.title END"
            " WHERE old.last_batch <> excluded.last_batch",
            (project, session_id, "" if subpath else title_of(entries), now, now, batch),
        )
        if cursor.rowcount:
            await cursor.executemany(
                "INSERT INTO holodeck_session_entries (project, session_id, subpath, uuid, entry)"
                " VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
                [(project, session_id, subpath, *row) for row in rows_of(entries)],
            )
    return True


async def _delete(connection: Connection, key: SessionKey) -> None:
    project, session_id, subpath = columns_of(key)
    async with connection.transaction():
        if subpath:
            await connection.execute(
                "DELETE FROM holodeck_session_entries"
                " WHERE project = %s AND session_id = %s AND subpath = %s",
                (project, session_id, subpath),
            )
            return
        for table in (b"holodeck_session_entries", b"holodeck_sessions"):
            await connection.execute(
                b"DELETE FROM " + table + b" WHERE project = %s AND session_id = %s",
                (project, session_id),
            )
