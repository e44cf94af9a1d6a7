"""Azure AI Search: an index with one vector field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.retrieval.stores.contract import StoreError, as_lists
from holodeck_backend_claude.retrieval.stores.rest import RestApi

_VERSION = "api-version=2024-07-01"
_MARK = "mark"
"""The key of the document that says whose the index is; those of vectors are UUIDs."""


class AzureSearchVectors:
    """An index of a search service.

    Args:
        collection: Its name; the service takes small letters, digits and dashes.
        url: The service, ``https://<name>.search.windows.net``.
        api_key: An admin key.
    """

    def __init__(self, collection: str, *, url: str, api_key: str | None = None) -> None:
        self._name = collection.lower().replace("_", "-").strip("-")
        self.address = f"Azure AI Search at {url}, index {self._name!r}"
        self._api = RestApi(url, address=self.address, headers={"api-key": api_key or ""})

    async def mark(self) -> str | None:
        """See :class:`VectorStore`."""
        if await self._api.call("GET", self._path(), absent=(404,)) is None:
            return None
        found = await self._api.call("GET", self._path(f"/docs('{_MARK}')"), absent=(404,))
        return "" if found is None else str(found.get("mark") or "")

    async def create(self, mark: str, *, dimensions: int) -> None:
        """See :class:`VectorStore`."""
        await self.drop()
        vector = {
            "name": "vector",
            "type": "Collection(Edm.Single)",
            "searchable": True,
            "retrievable": False,
            "dimensions": dimensions,
            "vectorSearchProfile": "cosine",
        }
        key = {"name": "id", "type": "Edm.String", "key": True, "filterable": True}
        text = {"name": "mark", "type": "Edm.String", "searchable": False}
        algorithm = {"name": "hnsw", "kind": "hnsw", "hnswParameters": {"metric": "cosine"}}
        await self._api.call(
            "PUT",
            self._path(),
            {
                "name": self._name,
                "fields": [key, text, vector],
                "vectorSearch": {
                    "algorithms": [algorithm],
                    "profiles": [{"name": "cosine", "algorithm": "hnsw"}],
                },
            },
        )
        await self._change("upload", [{"id": _MARK, "mark": mark}])

    async def drop(self) -> None:
        """See :class:`VectorStore`."""
        await self._api.call("DELETE", self._path(), absent=(404,))

    async def put(self, vectors: Mapping[UUID, NDArray[np.float32]]) -> None:
        """See :class:`VectorStore`."""
        rows = zip(map(str, vectors), as_lists(vectors.values()), strict=True)
        await self._change("upload", ({"id": each, "vector": row} for each, row in rows))

    async def remove(self, ids: Sequence[UUID]) -> None:
        """See :class:`VectorStore`."""
        await self._change("delete", ({"id": str(each)} for each in ids))

    async def has(self, ids: Sequence[UUID]) -> set[UUID]:
        """See :class:`VectorStore`."""
        if not ids:
            return set()
        wanted = ",".join(map(str, ids))
        return set(
            await self._search({"filter": f"search.in(id, '{wanted}', ',')", "top": len(ids)})
        )

    async def nearest(self, vector: NDArray[np.float32], limit: int) -> list[UUID]:
        """See :class:`VectorStore`."""
        [query] = as_lists([vector])
        wanted = {"kind": "vector", "vector": query, "fields": "vector", "k": limit}
        return await self._search({"vectorQueries": [wanted], "top": limit})

    async def close(self) -> None:
        """See :class:`VectorStore`."""
        await self._api.close()

    async def _search(self, body: dict[str, Any]) -> list[UUID]:
        found = await self._api.call("POST", self._path("/docs/search"), {**body, "select": "id"})
        return [UUID(each["id"]) for each in found["value"] if each["id"] != _MARK]

    async def _change(self, action: str, documents: Iterable[Mapping[str, object]]) -> None:
        value = [{"@search.action": action, **document} for document in documents]
        if not value:
            return
        answer = await self._api.call("POST", self._path("/docs/index"), {"value": value})
        for each in answer["value"]:
            if not each["status"]:
                raise StoreError(
                    f"the vector store {self.address} does not take a vector: "
                    f"{each.get('errorMessage')}"
                )

    def _path(self, below: str = "") -> str:
        return f"/indexes/{self._name}{below}?{_VERSION}"
