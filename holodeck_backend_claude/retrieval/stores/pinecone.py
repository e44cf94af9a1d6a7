"""Pinecone: a namespace of an index that is there already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.retrieval.stores.contract import MARK_ID, StoreError, as_lists
from holodeck_backend_claude.retrieval.stores.rest import RestApi

_NUMBERS_AT_ONCE = 100_000  # a request may have 2 MB
_IDS_AT_ONCE = 100  # they stand in the URL


class PineconeVectors:
    """A namespace of an index whose metric is the cosine.

    Args:
        collection: The namespace.
        url: The host of the index, as Pinecone shows it.
        api_key: Sent as ``Api-Key``.
    """

    def __init__(self, collection: str, *, url: str, api_key: str | None = None) -> None:
        self._name = collection
        self.address = f"Pinecone at {url}, namespace {collection!r}"
        headers = {"Api-Key": api_key or "", "X-Pinecone-API-Version": "2025-04"}
        self._api = RestApi(url, address=self.address, headers=headers)

    async def mark(self) -> str | None:
        """See :class:`VectorStore`."""
        found = (await self._fetch([MARK_ID])).get(str(MARK_ID))
        if found is not None:
            return str((found.get("metadata") or {}).get("mark", ""))
        return "" if self._name in (await self._stats()).get("namespaces", {}) else None

    async def create(self, mark: str, *, dimensions: int) -> None:
        """See :class:`VectorStore`."""
        length = (await self._stats()).get("dimension")
        if length not in (None, dimensions):
            raise StoreError(
                f"the vector store {self.address} cannot be used: its index has vectors of "
                f"{length} numbers, and the embedding model makes {dimensions}; make an index of "
                "that dimension, with the metric cosine"
            )
        await self.drop()
        anywhere = [1.0] + [0.0] * (dimensions - 1)
        vector = {"id": str(MARK_ID), "values": anywhere, "metadata": {"mark": mark}}
        await self._in("/vectors/upsert", {"vectors": [vector]})

    async def drop(self) -> None:
        """See :class:`VectorStore`."""
        await self._in("/vectors/delete", {"deleteAll": True}, absent=(404,))

    async def put(self, vectors: Mapping[UUID, NDArray[np.float32]]) -> None:
        """See :class:`VectorStore`."""
        rows = zip(map(str, vectors), as_lists(vectors.values()), strict=True)
        all_ = [{"id": each, "values": row} for each, row in rows]
        step = max(1, _NUMBERS_AT_ONCE // max([len(row["values"]) for row in all_], default=1))
        for start in range(0, len(all_), step):
            await self._in("/vectors/upsert", {"vectors": all_[start : start + step]})

    async def remove(self, ids: Sequence[UUID]) -> None:
        """See :class:`VectorStore`."""
        if ids:
            await self._in("/vectors/delete", {"ids": list(map(str, ids))})

    async def has(self, ids: Sequence[UUID]) -> set[UUID]:
        """See :class:`VectorStore`."""
        found: set[UUID] = set()
        for start in range(0, len(ids), _IDS_AT_ONCE):
            found |= set(map(UUID, await self._fetch(ids[start : start + _IDS_AT_ONCE])))
        return found

    async def nearest(self, vector: NDArray[np.float32], limit: int) -> list[UUID]:
        """See :class:`VectorStore`."""
        [query] = as_lists([vector])
        found = await self._in("/query", {"vector": query, "topK": limit + 1})
        ids = [UUID(each["id"]) for each in found["matches"]]
        return [each for each in ids if each != MARK_ID][:limit]

    async def close(self) -> None:
        """See :class:`VectorStore`."""
        await self._api.close()

    async def _fetch(self, ids: Sequence[UUID]) -> dict[str, Any]:
        query = urlencode([*(("ids", str(each)) for each in ids), ("namespace", self._name)])
        found = await self._api.call("GET", f"/vectors/fetch?{query}", absent=(404,))
        return dict((found or {}).get("vectors", {}))

    async def _stats(self) -> dict[str, Any]:
        return dict(await self._api.call("POST", "/describe_index_stats", {}))

    async def _in(self, path: str, body: dict[str, Any], *, absent: tuple[int, ...] = ()) -> Any:
        return await self._api.call("POST", path, {**body, "namespace": self._name}, absent=absent)
