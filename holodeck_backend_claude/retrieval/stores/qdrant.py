"""Qdrant: a server, or a folder that Qdrant's client keeps by itself (its local mode)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.retrieval.stores.calls import StoreCalls
from holodeck_backend_claude.retrieval.stores.contract import MARK_ID, as_lists

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient


class QdrantVectors:
    """A collection of Qdrant.

    Args:
        collection: Its name.
        url: The server; None for local mode.
        api_key: Sent to the server.
        path: The folder of local mode, which one process at a time can use.
    """

    def __init__(
        self,
        collection: str,
        *,
        url: str | None = None,
        api_key: str | None = None,
        path: Path | None = None,
    ) -> None:
        self._name = collection
        self._url = url
        self._api_key = api_key
        self._path = path
        self.address = f"Qdrant at {url or path}, collection {collection!r}"
        self._calls = StoreCalls(self.address)
        self._made: AsyncQdrantClient | None = None

    async def mark(self) -> str | None:
        """See :class:`VectorStore`."""

        async def work() -> str | None:
            client = self._client()
            if not await client.collection_exists(self._name):
                return None
            found = await client.retrieve(self._name, [str(MARK_ID)], with_payload=True)
            return str((found[0].payload or {}).get("mark", "")) if found else ""

        return await self._calls.run(work)

    async def create(self, mark: str, *, dimensions: int) -> None:
        """See :class:`VectorStore`."""
        from qdrant_client import models

        async def work() -> None:
            client = self._client()
            await client.delete_collection(self._name)
            await client.create_collection(
                self._name,
                vectors_config=models.VectorParams(
                    size=dimensions, distance=models.Distance.COSINE
                ),
            )
            anywhere = [1.0] + [0.0] * (dimensions - 1)
            point = models.PointStruct(id=str(MARK_ID), vector=anywhere, payload={"mark": mark})
            await client.upsert(self._name, [point], wait=True)

        await self._calls.run(work)

    async def drop(self) -> None:
        """See :class:`VectorStore`."""
        await self._calls.run(lambda: self._client().delete_collection(self._name))

    async def put(self, vectors: Mapping[UUID, NDArray[np.float32]]) -> None:
        """See :class:`VectorStore`."""
        from qdrant_client import models

        points = [
            models.PointStruct(id=str(number), vector=vector)
            for number, vector in zip(vectors, as_lists(vectors.values()), strict=True)
        ]
        if points:
            await self._calls.run(lambda: self._client().upsert(self._name, points, wait=True))

    async def remove(self, ids: Sequence[UUID]) -> None:
        """See :class:`VectorStore`."""
        from qdrant_client import models

        chosen = models.PointIdsList(points=list(map(str, ids)))
        if ids:
            await self._calls.run(lambda: self._client().delete(self._name, chosen, wait=True))

    async def has(self, ids: Sequence[UUID]) -> set[UUID]:
        """See :class:`VectorStore`."""
        wanted = list(map(str, ids))
        found: list[Any] = await self._calls.run(
            lambda: self._client().retrieve(self._name, wanted, with_payload=False)
        )
        return {UUID(str(point.id)) for point in found}

    async def nearest(self, vector: NDArray[np.float32], limit: int) -> list[UUID]:
        """See :class:`VectorStore`."""
        [query] = as_lists([vector])
        found = await self._calls.run(
            lambda: self._client().query_points(
                self._name, query=query, limit=limit + 1, with_payload=False
            )
        )
        ids = [UUID(str(point.id)) for point in found.points]
        return [number for number in ids if number != MARK_ID][:limit]

    async def close(self) -> None:
        """See :class:`VectorStore`."""
        client, self._made = self._made, None
        if client is not None:
            await self._calls.run(client.close)

    def _client(self) -> AsyncQdrantClient:
        if self._made is None:
            from qdrant_client import AsyncQdrantClient

            if self._path is not None:
                self._made = AsyncQdrantClient(path=str(self._path))
            else:
                self._made = AsyncQdrantClient(
                    url=self._url, api_key=self._api_key, timeout=60, check_compatibility=False
                )
        return self._made
