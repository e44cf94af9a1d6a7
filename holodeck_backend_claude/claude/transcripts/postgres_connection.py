"""The one connection to a PostgreSQL database, made again where it is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from holodeck_backend_claude.claude.transcripts import postgres_schema
from holodeck_backend_claude.claude.transcripts.store import OPERATION_SECONDS, StoreError
from holodeck_backend_claude.postgres_address import postgres_address
from holodeck_backend_claude.redaction import mask_secrets

if TYPE_CHECKING:
    from psycopg import AsyncConnection

    Connection: TypeAlias = AsyncConnection[tuple[Any, ...]]

T = TypeVar("T")

# A lock ends with its connection, and a machine that is gone says no goodbye: the server asks.
_KEEPALIVE = {"idle": 20, "interval": 5, "count": 4}


class PostgresConnection:
    """Runs one operation after the other, each in bounded time.

    A connection that is lost is replaced once for each operation, with the locks it held; what
    the operation had done by then is not done twice.

    Args:
        url: The database, as libpq understands it.

    Attributes:
        address: What may be said about where it is.

    Raises:
        StoreError: psycopg is not installed, or the URL is none.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self.address = _address(url)
        self._one_at_a_time = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connection: Connection | None = None
        self._locks: set[str] = set()

    async def lock(self, name: str) -> bool:
        """Take an advisory lock, which ends with the connection.

        Returns:
            False where another connection has it.
        """
        if name in self._locks:
            return True
        taken = await self.run(lambda connection: _try_lock(connection, name))
        if taken:
            self._locks.add(name)
        return taken

    async def unlock(self, name: str) -> None:
        """Give a lock up."""
        if name in self._locks:
            await self.rows("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", name)
            self._locks.discard(name)

    async def close(self) -> None:
        """Close the connection and with it give up every lock; may be called twice."""
        self._leave_other_loop()
        async with self._one_at_a_time:
            await self._unlock_all()
            await self._hang_up()

    async def _unlock_all(self) -> None:
        """Give every lock up now: the server notices only later that the connection is gone."""
        import psycopg

        if self._locks and self._connection is not None:
            with contextlib.suppress(psycopg.Error, StoreError):  # they end with the connection
                await self._attempt(_unlock_all)
        self._locks.clear()

    async def rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""

        async def read(connection: Connection) -> list[tuple[Any, ...]]:
            return await (await connection.execute(query.encode(), values)).fetchall()

        return await self.run(read)

    async def run(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """The result of ``work``.

        Raises:
            StoreError: The database is not there, refuses, or does not answer in time.
        """
        import psycopg

        self._leave_other_loop()
        async with self._one_at_a_time:
            was_connected = self._connection is not None
            try:
                return await self._attempt(work)
            except psycopg.OperationalError as lost:
                if not was_connected:
                    raise self.failure(lost) from lost
            except psycopg.Error as cause:
                raise self.failure(cause) from cause
            try:
                return await self._attempt(work)
            except psycopg.Error as cause:
                raise self.failure(cause) from cause

    def _leave_other_loop(self) -> None:
        """Break off what was begun in an event loop that runs no longer, and never ends."""
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        if self._one_at_a_time.locked() and self._connection is not None:
            connection, self._connection = self._connection, None
            connection.pgconn.finish()
        self._loop, self._one_at_a_time = loop, asyncio.Lock()

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
        raise self.failure(f"no answer within {OPERATION_SECONDS:g} s")

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
        await postgres_schema.prepare(connection, self.failure)
        await self._lock_again(connection)

    async def _lock_again(self, connection: Connection) -> None:
        for name in self._locks:
            if not await _try_lock(connection, name):
                raise self.failure(
                    "the connection was lost, and meanwhile another program took the conversation"
                )

    async def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(Exception):
                await connection.close()

    def failure(self, why: object) -> StoreError:
        """That it cannot be used, and why."""
        text = " ".join(mask_secrets(str(why)).split())
        return StoreError(f"the session store in {self.address} cannot be used: {text}")


def _socket_of(connection: Connection) -> socket.socket:
    """A second handle on the socket of a connection."""
    return socket.socket(fileno=os.dup(connection.fileno()))


def _address(url: str) -> str:
    """What may be said about where a database is."""
    try:
        found = postgres_address(url)
    except ImportError as cause:
        raise StoreError(
            "the session store 'postgres' needs psycopg: "
            "pip install 'holodeck-backend-claude[postgres]'"
        ) from cause
    if found is None:
        raise StoreError(
            "claude.sessions.url is no address of a PostgreSQL database; it looks like "
            "postgresql://user:password@host:5432/name"
        )
    return f"the PostgreSQL database {found}"


async def _try_lock(connection: Connection, name: str) -> bool:
    found = await connection.execute(
        "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", (name,)
    )
    row = await found.fetchone()
    return bool(row and row[0])


async def _unlock_all(connection: Connection) -> None:
    await connection.execute("SELECT pg_advisory_unlock_all()")
