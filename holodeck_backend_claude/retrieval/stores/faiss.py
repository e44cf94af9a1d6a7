"""Faiss: an exact index in one file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.concurrency.threads import in_thread
from holodeck_backend_claude.retrieval.stores.calls import StoreCalls
from holodeck_backend_claude.retrieval.stores.contract import StoreError

Index: TypeAlias = Any  # faiss has no types
T = TypeVar("T")


class FaissVectors:
    """A collection in ``<folder>/<collection>.npz``, replaced as a whole by each change.

    A file that another process replaced is read anew. Two that change it at the same moment are
    kept apart by the lock of the index whose vectors these are.

    Args:
        folder: Where the file is.
        collection: Its name.
    """

    def __init__(self, folder: Path, collection: str) -> None:
        self._file = folder / f"{collection}.npz"
        self.address = f"Faiss in {self._file}"
        self._calls = StoreCalls(self.address)
        self._lock = Lock()
        self._index: Index = None
        self._file_read = 0  # the inode of the file that is in memory
        self._mark = ""
        self._ids: dict[int, UUID] = {}  # by the number that Faiss knows an id by

    async def mark(self) -> str | None:
        """See :class:`VectorStore`."""

        def work() -> str | None:
            if not self._file.exists():
                return None
            self._loaded()
            return self._mark

        return await self._run(work)

    async def create(self, mark: str, *, dimensions: int) -> None:
        """See :class:`VectorStore`."""
        import faiss

        def work() -> None:
            self._index = faiss.IndexIDMap2(faiss.IndexFlatIP(dimensions))
            self._mark, self._ids = mark, {}
            self._save()

        await self._run(work)

    async def drop(self) -> None:
        """See :class:`VectorStore`."""

        def work() -> None:
            self._index = None
            self._file.unlink(missing_ok=True)

        await self._run(work)

    async def put(self, vectors: Mapping[UUID, NDArray[np.float32]]) -> None:
        """See :class:`VectorStore`."""

        def work() -> None:
            index = self._loaded()
            self._take_out(vectors)
            rows = np.stack(list(vectors.values())).astype(np.float32)
            index.add_with_ids(rows, np.array([_number(each) for each in vectors], np.int64))
            self._ids |= {_number(each): each for each in vectors}
            self._save()

        if vectors:
            await self._run(work)

    async def remove(self, ids: Sequence[UUID]) -> None:
        """See :class:`VectorStore`."""

        def work() -> None:
            self._loaded()
            self._take_out(ids)
            self._save()

        await self._run(work)

    async def has(self, ids: Sequence[UUID]) -> set[UUID]:
        """See :class:`VectorStore`."""

        def work() -> set[UUID]:
            self._loaded()
            return set(ids).intersection(self._ids.values())

        return await self._run(work)

    async def nearest(self, vector: NDArray[np.float32], limit: int) -> list[UUID]:
        """See :class:`VectorStore`."""

        def work() -> list[UUID]:
            index = self._loaded()
            most = min(limit, len(self._ids))
            if not most:
                return []
            _scores, numbers = index.search(vector.reshape(1, -1).astype(np.float32), most)
            return [self._ids[int(number)] for number in numbers[0]]

        return await self._run(work)

    async def close(self) -> None:
        """See :class:`VectorStore`."""
        self._index = None

    async def _run(self, work: Callable[[], T]) -> T:
        def alone() -> T:
            with self._lock:
                return work()

        return await self._calls.run(lambda: in_thread(alone))

    def _take_out(self, ids: Iterable[UUID]) -> None:
        known = [_number(each) for each in ids if _number(each) in self._ids]
        if known:
            self._index.remove_ids(np.array(known, np.int64))
        for number in known:
            del self._ids[number]

    def _loaded(self) -> Index:
        import faiss

        try:
            inode = self._file.stat().st_ino
            if self._index is None or inode != self._file_read:
                with np.load(self._file, allow_pickle=False) as kept:
                    self._index = faiss.deserialize_index(kept["index"])
                    self._mark = str(kept["mark"])
                    ids = [UUID(bytes=row.tobytes()) for row in kept["ids"]]
                self._ids = {_number(each): each for each in ids}
                self._file_read = inode
        except FileNotFoundError as cause:
            raise StoreError(f"the vector store {self.address} is gone") from cause
        return self._index

    def _save(self) -> None:
        import faiss

        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = self._file.with_suffix(".new.npz")
        ids = np.frombuffer(b"".join(each.bytes for each in self._ids.values()), np.uint8)
        np.savez(
            new,
            index=faiss.serialize_index(self._index),
            mark=np.array(self._mark),
            ids=ids.reshape(-1, 16),
        )
        new.replace(self._file)
        self._file_read = self._file.stat().st_ino


def _number(of: UUID) -> int:
    """63 bits of an id, as Faiss counts."""
    return of.int >> 65
