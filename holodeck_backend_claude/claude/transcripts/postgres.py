"""Transcripts in a PostgreSQL database, for programs on several machines."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from uuid import uuid4

from holodeck_backend_claude.claude.transcripts import postgres_schema
from holodeck_backend_claude.claude.transcripts.store import (
    OPERATION_SECONDS,
    StoreError,
    columns_of,
    entries_of,
    now_ms,
    rows_of,
    stored_session,
    title_of,
)
from holodeck_backend_claude.redaction import mask_secrets

if TYPE_CHECKING:
    from claude_agent_sdk import SessionKey, SessionStoreEntry, SessionStoreListEntry
    from claude_agent_sdk.types import SessionListSubkeysKey
    from psycopg import AsyncConnection

    from holodeck_backend_claude.contract import StoredSession

    Connection: TypeAlias = AsyncConnection[tuple[Any, ...]]

T = TypeVar("T")

# A claim ends with its connection, and a machine that is gone says no goodbye: the server asks.
_KEEPALIVE = {"idle": 20, "interval": 5, "count": 4}


class PostgresStore:
    """See :class:`~holodeck_backend_claude.claude.transcripts.store.TranscriptStore`.

    It holds one connection, which is made when it is first used. One that is lost is replaced
    once for each operation; what the operation had done by then is not done twice.

    Args:
        url: The database, as libpq understands it.

    Raises:
        StoreError: psycopg is not installed, or the URL is none.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._address = _address(url)
        self._one_at_a_time = asyncio.Lock()
        self._connection: Connection | None = None
        self._claimed: set[str] = set()

    @property
    def place(self) -> str:
        """Name, host and port of the database."""
        return self._address

    async def append(
        self, key: SessionKey, entries: list[SessionStoreEntry], *, batch: str | None = None
    ) -> None:
        """Add entries, all of them or none."""
        if entries:
            name = batch or uuid4().hex
            await self._run(lambda connection: _append(connection, key, entries, name))

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """The entries in the order they were added; None where there are none."""
        rows = await self._rows(
            "SELECT entry FROM holodeck_session_entries"
            " WHERE project = %s AND session_id = %s AND subpath = %s ORDER BY position",
            *columns_of(key),
        )
        return entries_of(text for (text,) in rows)

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """The ids of a project's conversations, and when each was last written."""
        rows = await self._rows(
            "SELECT session_id, used_ms FROM holodeck_sessions WHERE project = %s", project_key
        )
        return [{"session_id": session_id, "mtime": used} for session_id, used in rows]

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """The ``subpath`` of each subagent of a conversation."""
        rows = await self._rows(
            "SELECT DISTINCT subpath FROM holodeck_session_entries"
            " WHERE project = %s AND session_id = %s AND subpath <> ''",
            key["project_key"],
            key["session_id"],
        )
        return [subpath for (subpath,) in rows]

    async def delete(self, key: SessionKey) -> None:
        """Remove a conversation with its subagents, or with ``subpath`` only that one."""
        await self._run(lambda connection: _delete(connection, key))

    async def overview(self, project_key: str) -> list[StoredSession]:
        """A project's conversations, the last used first."""
        rows = await self._rows(
            "SELECT session_id, title, started_ms, used_ms FROM holodeck_sessions"
            " WHERE project = %s ORDER BY used_ms DESC",
            project_key,
        )
        return [stored_session(*row) for row in rows]

    async def claim(self, key: SessionKey) -> bool:
        """Keep a conversation for this store object alone."""
        name = _claim_name(key)
        if name in self._claimed:
            return True
        taken = await self._run(lambda connection: _try_lock(connection, name))
        if taken:
            self._claimed.add(name)
        return taken

    async def release(self, key: SessionKey) -> None:
        """Give up a claim."""
        name = _claim_name(key)
        if name in self._claimed:
            await self._rows("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", name)
            self._claimed.discard(name)

    async def close(self) -> None:
        """Close the connection and with it give up every claim; may be called twice."""
        async with self._one_at_a_time:
            self._claimed.clear()
            await self._hang_up()

    # ------------------------------------------------------------------------ the connection

    async def _rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        async def read(connection: Connection) -> list[tuple[Any, ...]]:
            return await (await connection.execute(query.encode(), values)).fetchall()

        return await self._run(read)

    async def _run(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        import psycopg

        async with self._one_at_a_time:
            was_connected = self._connection is not None
            try:
                return await self._attempt(work)
            except psycopg.OperationalError as lost:
                if not was_connected:
                    raise self._failure(lost) from lost
            except psycopg.Error as cause:
                raise self._failure(cause) from cause
            try:
                return await self._attempt(work)
            except psycopg.Error as cause:
                raise self._failure(cause) from cause

    async def _attempt(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        task = asyncio.ensure_future(self._connected(work))
        try:
            await asyncio.wait({task}, timeout=OPERATION_SECONDS)
            if task.done():
                return await task
        except BaseException:
            await self._cut_off(task)
            await self._hang_up()  # it may be what is broken, or in the middle of something
            raise
        await self._cut_off(task)
        await self._hang_up()
        raise self._failure(f"no answer within {OPERATION_SECONDS:g} s")

    async def _connected(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        if self._connection is None:
            await self._connect()
        assert self._connection is not None  # noqa: S101  or an error was raised
        return await work(self._connection)

    async def _cut_off(self, task: asyncio.Future[T]) -> None:
        """End an operation that hangs.

        psycopg answers a cancellation by asking the server to cancel and waiting for it, for ever
        in some versions; a connection that breaks ends it at once.
        """
        if not task.done() and self._connection is not None:
            with contextlib.suppress(Exception), _socket_of(self._connection) as line:
                line.shutdown(socket.SHUT_RDWR)
            await asyncio.wait({task}, timeout=1)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await task

    async def _connect(self) -> None:
        import psycopg

        self._connection = connection = await psycopg.AsyncConnection.connect(
            self._url,
            autocommit=True,
            connect_timeout=int(OPERATION_SECONDS),
            application_name="holodeck-backend-claude",
        )
        for name, value in _KEEPALIVE.items():
            await connection.execute(
                "SELECT set_config(%s, %s, false)", (f"tcp_keepalives_{name}", str(value))
            )
        await postgres_schema.prepare(connection, self._failure)
        await self._claim_again(connection)

    async def _claim_again(self, connection: Connection) -> None:
        for name in self._claimed:
            if not await _try_lock(connection, name):
                raise self._failure(
                    "the connection was lost, and meanwhile another program took the conversation"
                )

    async def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(Exception):
                await connection.close()

    def _failure(self, why: object) -> StoreError:
        text = " ".join(mask_secrets(str(why)).split())
        return StoreError(f"the session store in {self._address} cannot be used: {text}")


def _socket_of(connection: Connection) -> socket.socket:
    """A second handle on the socket of a connection."""
    return socket.socket(fileno=os.dup(connection.fileno()))


def _address(url: str) -> str:
    """What may be said about where a database is."""
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as cause:
        raise StoreError(
            "the session store 'postgres' needs psycopg: "
            "pip install 'holodeck-backend-claude[postgres]'"
        ) from cause
    try:
        said = conninfo_to_dict(url)
    except psycopg.Error as cause:
        raise StoreError(
            "claude.sessions.url is no address of a PostgreSQL database; it looks like "
            "postgresql://user:password@host:5432/name"
        ) from cause
    where = f"{said.get('host') or 'this machine'}:{said.get('port') or 5432}"
    return f"the PostgreSQL database {said.get('dbname') or said.get('user') or ''!r} on {where}"


def _claim_name(key: SessionKey) -> str:
    return "\n".join(("holodeck session", *columns_of(key)))


async def _try_lock(connection: Connection, name: str) -> bool:
    found = await connection.execute(
        "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", (name,)
    )
    row = await found.fetchone()
    return bool(row and row[0])


async def _append(
    connection: Connection, key: SessionKey, entries: list[SessionStoreEntry], batch: str
) -> None:
    project, session_id, subpath = columns_of(key)
    now = now_ms()
    async with connection.transaction(), connection.cursor() as cursor:
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
