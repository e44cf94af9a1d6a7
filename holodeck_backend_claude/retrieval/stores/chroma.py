"""Chroma: a collection of a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.retrieval.stores.contract import StoreError, as_lists
from holodeck_backend_claude.retrieval.stores.rest import RestApi

_DATABASE = "/api/v2/tenants/default_tenant/databases/default_database/collections"
_ABSENT = (404,)


class ChromaVectors:
    """A collection of a Chroma server, from 1.0 on.

    Args:
        collection: Its name.
        url: The server.
        api_key: Sent as ``x-chroma-token``.
    """

    def __init__(self, collection: str, *, url: str, api_key: str | None = None) -> None:
        self._name = collection
        self.address = f"Chroma at {url}, collection {collection!r}"
        headers = {"x-chroma-token": api_key} if api_key else {}
        self._api = RestApi(url, address=self.address, headers=headers)
        self._id: str | None = None  # a server knows a collection by an id of its own

    async def mark(self) -> str | None:
        """See :class:`VectorStore`."""
        found = await self._found()
        return None if found is None else str((found.get("metadata") or {}).get("mark", ""))

    async def create(self, mark: str, *, dimensions: int) -> None:
        """See :class:`VectorStore`."""
        del dimensions  # the first vector says it
        await self.drop()
        made = await self._api.call(
            "POST",
            _DATABASE,
            {
                "name": self._name,
                "metadata": {"mark": mark},
                "configuration": {"hnsw": {"space": "cosine", "ef_search": 1_000}},
            },
        )
        self._id = str(made["id"])

    async def drop(self) -> None:
        """See :class:`VectorStore`."""
        self._id = None
        await self._api.call("DELETE", f"{_DATABASE}/{self._name}", absent=_ABSENT)

    async def put(self, vectors: Mapping[UUID, NDArray[np.float32]]) -> None:
        """See :class:`VectorStore`."""
        if vectors:
            rows = as_lists(vectors.values())
            await self._in("upsert", {"ids": list(map(str, vectors)), "embeddings": rows})

    async def remove(self, ids: Sequence[UUID]) -> None:
        """See :class:`VectorStore`."""
        there = await self.has(ids)
        if there:  # some versions refuse an id that is not there
            await self._in("delete", {"ids": list(map(str, there))})

    async def has(self, ids: Sequence[UUID]) -> set[UUID]:
        """See :class:`VectorStore`."""
        if not ids:
            return set()
        found = await self._in(
            "get", {"ids": list(map(str, ids)), "include": [], "limit": len(ids)}
        )
        return set(map(UUID, found["ids"]))

    async def nearest(self, vector: NDArray[np.float32], limit: int) -> list[UUID]:
        """See :class:`VectorStore`."""
        found = await self._in(
            "query",
            {"query_embeddings": as_lists([vector]), "n_results": limit, "include": ["distances"]},
        )
        return list(map(UUID, found["ids"][0]))

    async def close(self) -> None:
        """See :class:`VectorStore`."""
        await self._api.close()

    async def _found(self) -> dict[str, Any] | None:
        found: dict[str, Any] | None = await self._api.call(
            "GET", f"{_DATABASE}/{self._name}", absent=_ABSENT
        )
        self._id = None if found is None else str(found["id"])
        return found

    async def _in(self, action: str, body: object) -> Any:
        if self._id is None and await self._found() is None:
            raise StoreError(f"the vector store {self.address} is gone")
        return await self._api.call("POST", f"{_DATABASE}/{self._id}/{action}", body)
