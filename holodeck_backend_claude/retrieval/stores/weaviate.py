"""Weaviate: a class without a vectorizer, over REST and GraphQL."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.retrieval.stores.contract import StoreError, as_lists
from holodeck_backend_claude.retrieval.stores.rest import RestApi


class WeaviateVectors:
    """A collection of a Weaviate server.

    Args:
        collection: Its name; the server writes it with a capital letter first.
        url: The server.
        api_key: Sent as a bearer token.
    """

    def __init__(self, collection: str, *, url: str, api_key: str | None = None) -> None:
        self._name = collection[:1].upper() + collection[1:]
        self.address = f"Weaviate at {url}, collection {self._name!r}"
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._api = RestApi(url, address=self.address, headers=headers)

    async def mark(self) -> str | None:
        """See :class:`VectorStore`."""
        found = await self._api.call("GET", f"/v1/schema/{self._name}", absent=(404,))
        return None if found is None else str(found.get("description") or "")

    async def create(self, mark: str, *, dimensions: int) -> None:
        """See :class:`VectorStore`."""
        del dimensions  # the first vector says it
        await self.drop()
        await self._api.call(
            "POST",
            "/v1/schema",
            {
                "class": self._name,
                "description": mark,
                "vectorizer": "none",
                "vectorIndexType": "hnsw",
                "vectorIndexConfig": {"distance": "cosine"},
                "properties": [],
            },
        )

    async def drop(self) -> None:
        """See :class:`VectorStore`."""
        await self._api.call("DELETE", f"/v1/schema/{self._name}", absent=(404,))

    async def put(self, vectors: Mapping[UUID, NDArray[np.float32]]) -> None:
        """See :class:`VectorStore`."""
        rows = zip(vectors, as_lists(vectors.values()), strict=True)
        objects = [{"class": self._name, "id": str(each), "vector": row} for each, row in rows]
        if not objects:
            return
        answers = await self._api.call("POST", "/v1/batch/objects", {"objects": objects})
        for answer in answers:
            if problem := (answer.get("result") or {}).get("errors"):
                raise StoreError(
                    f"the vector store {self.address} does not take a vector: {problem}"
                )

    async def remove(self, ids: Sequence[UUID]) -> None:
        """See :class:`VectorStore`."""
        if ids:
            where = {
                "path": ["id"],
                "operator": "ContainsAny",
                "valueTextArray": list(map(str, ids)),
            }
            body = {"match": {"class": self._name, "where": where}}
            await self._api.call("DELETE", "/v1/batch/objects", body)

    async def has(self, ids: Sequence[UUID]) -> set[UUID]:
        """See :class:`VectorStore`."""
        if not ids:
            return set()
        wanted = json.dumps(list(map(str, ids)))
        where = f'where: {{path: ["id"], operator: ContainsAny, valueText: {wanted}}}'
        return set(await self._get(f"{where}, limit: {len(ids)}"))

    async def nearest(self, vector: NDArray[np.float32], limit: int) -> list[UUID]:
        """See :class:`VectorStore`."""
        [query] = as_lists([vector])
        return await self._get(f"nearVector: {{vector: {json.dumps(query)}}}, limit: {limit}")

    async def close(self) -> None:
        """See :class:`VectorStore`."""
        await self._api.close()

    async def _get(self, what: str) -> list[UUID]:
        query = f"{{ Get {{ {self._name}({what}) {{ _additional {{ id }} }} }} }}"
        answer: dict[str, Any] = await self._api.call("POST", "/v1/graphql", {"query": query})
        if problems := answer.get("errors"):
            raise StoreError(f"the vector store {self.address} cannot be used: {problems}")
        found = answer["data"]["Get"][self._name] or []
        return [UUID(each["_additional"]["id"]) for each in found]
