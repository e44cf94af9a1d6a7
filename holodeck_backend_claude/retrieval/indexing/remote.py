"""Keeps a vector store in line with the vectors of an index.

The index knows what it sent: a text is noted as on its way before it is sent, as sent once the
store has it, and is forgotten once the store has it no more. So the notes never lack what is in
the store, and a run that is cut off anywhere is mended by the next one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import ParamSpec, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.concurrency.threads import in_thread
from holodeck_backend_claude.retrieval.indexing import vectors
from holodeck_backend_claude.retrieval.indexing.database import Database
from holodeck_backend_claude.retrieval.indexing.lock import exclusive, files_lock
from holodeck_backend_claude.retrieval.stores import StoreError, VectorStore
from holodeck_backend_claude.retrieval.stores.contract import MOST_AT_ONCE

P = ParamSpec("P")
T = TypeVar("T")

_MARK = "holodeck-backend-claude/1 "
_LOOKED_AT = 100
"""Of the vectors that were sent, as many are looked for at each start."""


class RemoteVectors:
    """The vectors of one index in a store.

    Args:
        store: The store.
        owner: Agent and tool, as it is written on the collection.
    """

    def __init__(self, store: VectorStore, owner: str) -> None:
        self.store = store
        self._owner = owner

    async def update(
        self,
        database: Database,
        fingerprint: str,
        progress: Callable[[int, int], None],
        *,
        anew: bool = False,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        """Send what the store lacks, and remove what no passage needs any more.

        Args:
            database: The index, its vectors made.
            fingerprint: Of the embedder whose vectors are meant.
            progress: ``progress(done, total)``, in vectors.
            anew: Whether the collection is emptied before.
            is_wanted: Asked before each call; False ends the run, and the next one goes on.

        Raises:
            StoreError: The store cannot be used, or the collection belongs to somebody else.
        """
        notes = _Notes(database, self.store.address, fingerprint)
        dimensions = await in_thread(notes.dimensions)
        if dimensions is None:
            return  # no vector could be made
        await self._prepare(notes, fingerprint, dimensions, anew=anew)
        unsent, surplus = await in_thread(notes.differences)
        done, total = 0, len(unsent) + len(surplus)
        for work, texts in ((self._remove, surplus), (self._send, unsent)):
            for batch in _batches(texts):
                if not is_wanted():
                    return
                await work(notes, batch)
                done += len(batch)
                progress(done, total)

    async def _remove(self, notes: _Notes, batch: Sequence[bytes]) -> None:
        await self.store.remove([as_id(each) for each in batch])
        await notes.write(notes.forget, batch)

    async def _send(self, notes: _Notes, batch: Sequence[bytes]) -> None:
        await notes.write(notes.on_their_way, batch)
        rows = await in_thread(notes.vectors, batch)
        await self.store.put({as_id(text_hash): row for text_hash, row in rows.items()})
        await notes.write(notes.sent, batch)

    async def _prepare(
        self, notes: _Notes, fingerprint: str, dimensions: int, *, anew: bool
    ) -> None:
        ours = f"{_MARK}{self._owner}"
        wanted = f"{ours} | {fingerprint}"[:500]
        mark = await self.store.mark()
        if mark is not None and mark != ours and not mark.startswith(f"{ours} |"):
            whose = f"it belongs to {mark.removeprefix(_MARK)!r}" if mark else "it is not ours"
            raise StoreError(
                f"the vector store {self.store.address} cannot be used: {whose}; give this tool "
                "another 'database.collection'"
            )
        if mark != wanted or anew:
            await notes.write(notes.forget_all)
            await self.store.create(wanted, dimensions=dimensions)
            return
        some = await in_thread(notes.some, _LOOKED_AT)
        if len(await self._there(some)) < len(some):
            await notes.write(notes.doubt_all)  # somebody else removed vectors: send all of them

    async def _there(self, hashes: Sequence[bytes]) -> set[UUID]:
        return await self.store.has([as_id(each) for each in hashes]) if hashes else set()


class _Notes:
    """What an index knows of one collection."""

    def __init__(self, database: Database, address: str, fingerprint: str) -> None:
        self._database = database
        self._address = address
        self._fingerprint = fingerprint

    def dimensions(self) -> int | None:
        with self._database.reading() as db:
            return vectors.dimensions(db, self._fingerprint)

    def differences(self) -> tuple[list[bytes], list[bytes]]:
        """The texts whose vectors are to be sent, and those that are to be removed."""
        with self._database.reading() as db:
            needed = set(vectors.hashes(db, self._fingerprint))
            known = dict(
                db.execute("SELECT text_hash, is_there FROM sent WHERE store = ?", (self._address,))
            )
        unsent = [each for each in needed if not known.get(each)]
        return sorted(unsent), sorted(known.keys() - needed)

    def some(self, most: int) -> list[bytes]:
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT text_hash FROM sent WHERE store = ? AND is_there ORDER BY random() LIMIT ?",
                (self._address, most),
            )
            return [text_hash for (text_hash,) in rows]

    def vectors(self, batch: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """The vectors of these texts."""
        with self._database.reading() as db:
            return vectors.of_texts(db, self._fingerprint, batch)

    async def write(self, change: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Change what is noted while no run changes the files."""
        async with exclusive(files_lock(self._database.path), lambda: None):
            await in_thread(change, *args, **kwargs)

    def on_their_way(self, batch: Sequence[bytes]) -> None:
        self._note(batch, is_there=False)

    def sent(self, batch: Sequence[bytes]) -> None:
        self._note(batch, is_there=True)

    def _note(self, batch: Sequence[bytes], *, is_there: bool) -> None:
        with self._database.writing() as db:
            db.executemany(
                "INSERT OR REPLACE INTO sent (store, text_hash, is_there) VALUES (?, ?, ?)",
                [(self._address, text_hash, is_there) for text_hash in batch],
            )

    def forget(self, batch: Sequence[bytes]) -> None:
        with self._database.writing() as db:
            db.executemany(
                "DELETE FROM sent WHERE store = ? AND text_hash = ?",
                [(self._address, text_hash) for text_hash in batch],
            )

    def doubt_all(self) -> None:
        """Take everything for on its way; what is to be removed stays known."""
        with self._database.writing() as db:
            db.execute("UPDATE sent SET is_there = 0 WHERE store = ?", (self._address,))

    def forget_all(self) -> None:
        with self._database.writing() as db:
            db.execute("DELETE FROM sent WHERE store = ?", (self._address,))


def as_id(text_hash: bytes) -> UUID:
    """The id of the vector of a text: the first half of the text's SHA-256."""
    return UUID(bytes=text_hash[:16])


def chunks_of(db: sqlite3.Connection, ids: Sequence[UUID]) -> list[int]:
    """The passages whose texts have these ids, in their order; unknown ids are passed over."""
    found: list[int] = []
    for each in ids:
        rows = db.execute(
            "SELECT id FROM chunks WHERE text_hash BETWEEN ? AND ? ORDER BY id",
            (each.bytes, each.bytes + b"\xff" * 16),
        )
        found += [number for (number,) in rows]
    return found


def _batches(all_: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(all_), MOST_AT_ONCE):
        yield all_[start : start + MOST_AT_ONCE]
