"""PostgreSQL with pgvector: one table for each collection, with an HNSW index on the cosine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.postgres_address import postgres_address
from holodeck_backend_claude.retrieval.stores.calls import StoreCalls
from holodeck_backend_claude.retrieval.stores.contract import StoreError, as_lists

if TYPE_CHECKING:
    from psycopg import AsyncConnection, sql

    Connection: TypeAlias = AsyncConnection[tuple[Any, ...]]

_MOST_INDEXED = 2_000
"""The longest vectors that pgvector indexes; longer ones are compared one by one."""

_MOST_CANDIDATES = 1_000  # of hnsw.ef_search


class PostgresVectors:
    """A collection in a table.

    Args:
        url: The database, as libpq understands it.
        collection: The name of the table.
    """

    def __init__(self, url: str, collection: str) -> None:
        self._url = url
        self._name = collection
        self.address = f"{_address(url)}, table {collection!r}"
        self._calls = StoreCalls(self.address)
        self._connection: Connection | None = None
        self._pgvector = ""  # the schema of the extension, once it is known
        self._one_at_a_time = asyncio.Lock()

    async def mark(self) -> str | None:
        """See :class:`VectorStore`."""
        rows = await self._rows(
            "SELECT coalesce(obj_description(to_regclass(%s), 'pg_class'), '')"
            " WHERE to_regclass(%s) IS NOT NULL",
            self._quoted,
            self._quoted,
        )
        return str(rows[0][0]) if rows else None

    async def create(self, mark: str, *, dimensions: int) -> None:
        """See :class:`VectorStore`."""
        index = "CREATE INDEX ON {table} USING hnsw (vector {pgvector}.vector_cosine_ops)"
        kind = f"{{pgvector}}.vector({int(dimensions)})"
        await self._change("CREATE EXTENSION IF NOT EXISTS vector")
        await self._change(
            "DROP TABLE IF EXISTS {table}",
            f"CREATE TABLE {{table}} (id uuid PRIMARY KEY, vector {kind})",
            *([index] if dimensions <= _MOST_INDEXED else []),
            "COMMENT ON TABLE {table} IS {mark}",
            mark=mark,
        )

    async def drop(self) -> None:
        """See :class:`VectorStore`."""
        await self._change("DROP TABLE IF EXISTS {table}")

    async def put(self, vectors: Mapping[UUID, NDArray[np.float32]]) -> None:
        """See :class:`VectorStore`."""
        rows = [
            (str(number), str(vector))
            for number, vector in zip(vectors, as_lists(vectors.values()), strict=True)
        ]

        async def work(connection: Connection) -> None:
            async with connection.transaction(), connection.cursor() as cursor:
                await cursor.executemany(
                    self._sql(
                        "INSERT INTO {table} (id, vector) VALUES (%s, %s)"
                        " ON CONFLICT (id) DO UPDATE SET vector = excluded.vector"
                    ),
                    rows,
                )

        await self._run(work)

    async def remove(self, ids: Sequence[UUID]) -> None:
        """See :class:`VectorStore`."""
        await self._rows("DELETE FROM {table} WHERE id = ANY(%s) RETURNING id", list(ids))

    async def has(self, ids: Sequence[UUID]) -> set[UUID]:
        """See :class:`VectorStore`."""
        rows = await self._rows("SELECT id FROM {table} WHERE id = ANY(%s)", list(ids))
        return {row[0] for row in rows}

    async def nearest(self, vector: NDArray[np.float32], limit: int) -> list[UUID]:
        """See :class:`VectorStore`."""
        [text] = map(str, as_lists([vector]))

        async def work(connection: Connection) -> list[tuple[Any, ...]]:
            async with connection.transaction():
                depth = min(_MOST_CANDIDATES, max(2 * limit, 100))
                await connection.execute(f"SET LOCAL hnsw.ef_search = {depth}".encode())
                found = await connection.execute(
                    self._sql(
                        "SELECT id FROM {table} ORDER BY"
                        " vector OPERATOR({pgvector}.<=>) %s::{pgvector}.vector LIMIT %s"
                    ),
                    (text, limit),
                )
                return await found.fetchall()

        return [row[0] for row in await self._run(work)]

    async def close(self) -> None:
        """See :class:`VectorStore`."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    # ----------------------------------------------------------------------------- statements

    @property
    def _quoted(self) -> str:
        return '"{}"'.format(self._name.replace('"', '""'))

    def _sql(self, text: str, **values: str) -> sql.Composed:
        from psycopg import sql

        told = {name: sql.Literal(value) for name, value in values.items()}
        return sql.SQL(text).format(
            table=sql.Identifier(self._name),
            pgvector=sql.Identifier(self._pgvector or "public"),
            **told,
        )

    async def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        async def work(connection: Connection) -> list[tuple[Any, ...]]:
            return await (await connection.execute(self._sql(query), values)).fetchall()

        rows: list[tuple[Any, ...]] = await self._run(work)
        return rows

    async def _change(self, *statements: str, **values: str) -> None:
        async def work(connection: Connection) -> None:
            async with connection.transaction():
                for statement in statements:
                    await connection.execute(self._sql(statement, **values))

        await self._run(work)

    async def _run(self, work: Any) -> Any:
        import psycopg

        async def once() -> Any:
            async with self._one_at_a_time:
                try:
                    connection = await self._connected()
                    self._pgvector = self._pgvector or await _schema_of_pgvector(connection)
                    return await work(connection)
                except psycopg.OperationalError:
                    await self.close()  # the next call connects again
                    raise

        return await self._calls.run(once)

    async def _connected(self) -> Connection:
        import psycopg

        if self._connection is None or self._connection.closed:
            self._connection = await psycopg.AsyncConnection.connect(
                self._url, autocommit=True, connect_timeout=10,
                application_name="holodeck-backend-claude",
            )  # fmt: skip
        return self._connection


async def _schema_of_pgvector(connection: Connection) -> str:
    """Where the extension is; empty where it is not installed yet."""
    found = await connection.execute(
        b"SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
        b" WHERE e.extname = 'vector'"
    )
    row = await found.fetchone()
    return str(row[0]) if row else ""


def _address(url: str) -> str:
    found = postgres_address(url)
    if found is None:
        raise StoreError(
            "database.connection_string is no address of a PostgreSQL database; it looks like "
            "postgresql://user:password@host:5432/name"
        )
    return f"PostgreSQL {found}"
