"""The tables of the PostgreSQL store: made on first use, by one program at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from holodeck_backend_claude.claude.transcripts.store import SCHEMA_VERSION, StoreError

if TYPE_CHECKING:
    from psycopg import AsyncConnection

_TABLES = (
    "CREATE TABLE IF NOT EXISTS holodeck_session_schema (version integer NOT NULL)",
    """
    CREATE TABLE IF NOT EXISTS holodeck_sessions (
        project text NOT NULL,
        session_id text NOT NULL,
        title text NOT NULL,
        started_ms bigint NOT NULL,
        used_ms bigint NOT NULL,
        last_batch text NOT NULL,
        PRIMARY KEY (project, session_id)
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS holodeck_session_entries (
        position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        project text NOT NULL,
        session_id text NOT NULL,
        subpath text NOT NULL,
        uuid text,
        entry text NOT NULL
    )
    """,
    """
    CREATE INDEX IF NOT EXISTS holodeck_session_entries_in_order
        ON holodeck_session_entries (project, session_id, subpath, position)
    """,
    """
    CREATE UNIQUE INDEX IF NOT EXISTS holodeck_session_entries_once
        ON holodeck_session_entries (project, session_id, subpath, uuid) WHERE uuid IS NOT NULL
    """,
)
_LOCK = 0x686F6C6F  # of whoever makes the tables


async def prepare(
    connection: AsyncConnection[tuple[Any, ...]], failure: Callable[[object], StoreError]
) -> None:
    """Make the tables where they are missing, and check the version of those that are there.

    Args:
        connection: In autocommit mode.
        failure: Makes the error for what is wrong.

    Raises:
        StoreError: The tables are of a newer version.
    """
    if await _version(connection) is None:
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            for statement in _TABLES:  # somebody may have made them while we waited
                await connection.execute(statement.encode())
            await connection.execute(
                "INSERT INTO holodeck_session_schema SELECT %s"
                " WHERE NOT EXISTS (SELECT FROM holodeck_session_schema)",
                (SCHEMA_VERSION,),
            )
    version = await _version(connection)
    if version != SCHEMA_VERSION:
        raise failure(
            f"its tables are of version {version}, and this version of holodeck-backend-claude "
            f"knows {SCHEMA_VERSION}"
        )


async def _version(connection: AsyncConnection[tuple[Any, ...]]) -> int | None:
    found = await connection.execute("SELECT to_regclass('holodeck_session_schema')")
    row = await found.fetchone()
    if row is None or row[0] is None:
        return None
    row = await (await connection.execute("SELECT version FROM holodeck_session_schema")).fetchone()
    return int(row[0]) if row else None
