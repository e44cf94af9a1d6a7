"""Stores that no test can run: their requests, as a server with their manners sees them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from holodeck_backend_claude.retrieval import StoreError, VectorStore
from holodeck_backend_claude.retrieval.stores import rest
from holodeck_backend_claude.retrieval.stores.azure_search import AzureSearchVectors
from holodeck_backend_claude.retrieval.stores.pinecone import PineconeVectors
from holodeck_backend_claude.retrieval.stores.weaviate import WeaviateVectors

Seen: TypeAlias = tuple[str, str, Any]
Answer: TypeAlias = Callable[[Seen], tuple[int, Any]]

A, B = UUID(int=1), UUID(int=2)
VECTOR = np.array([0.5, -0.5], np.float32)
KEY = "key-of-the-store"


class Server:
    """Records what it is asked, and answers as it is told."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.seen: list[Seen] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.read()
        seen = (request.method, str(request.rel_url), json.loads(body) if body else None)
        self.seen.append(seen)
        self.headers.append(dict(request.headers))
        status, answer = self.answer(seen)
        return web.json_response(answer, status=status)


@asynccontextmanager
async def served(answer: Answer) -> AsyncIterator[Server]:
    server = Server(answer)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    async with TestServer(app) as running:
        server.url = str(running.make_url("")).rstrip("/")
        yield server


async def everything(store: VectorStore) -> list[Any]:
    """Each kind of call once; returns what came of those that return something."""
    await store.create("mark", dimensions=2)
    await store.put({A: VECTOR})
    await store.remove([B])
    found = [await store.mark(), await store.has([A, B]), await store.nearest(VECTOR, 3)]
    await store.drop()
    await store.close()
    return found


async def test_weaviate() -> None:
    def answer(seen: Seen) -> tuple[int, Any]:
        match seen:
            case ("GET", "/v1/schema/Books", _):
                return 200, {"class": "Books", "description": "mark"}
            case ("POST", "/v1/batch/objects", _):
                return 200, [{"result": {"status": "SUCCESS"}}]
            case ("POST", "/v1/graphql", _):
                return 200, {"data": {"Get": {"Books": [{"_additional": {"id": str(A)}}]}}}
            case ("DELETE", "/v1/schema/Books", _):
                return 404, {}
        return 200, {}

    async with served(answer) as server:
        found = await everything(WeaviateVectors("books", url=server.url, api_key=KEY))
        assert found == ["mark", {A}, [A]]
        assert {headers["Authorization"] for headers in server.headers} == {f"Bearer {KEY}"}
        made = server.seen[1]
        assert made[:2] == ("POST", "/v1/schema")
        assert (made[2]["class"], made[2]["description"]) == ("Books", "mark")
        assert made[2]["vectorIndexConfig"] == {"distance": "cosine"}
        assert server.seen[2][2] == {
            "objects": [{"class": "Books", "id": str(A), "vector": [0.5, -0.5]}]
        }
        where = {"path": ["id"], "operator": "ContainsAny", "valueTextArray": [str(B)]}
        assert server.seen[3] == (
            "DELETE",
            "/v1/batch/objects",
            {"match": {"class": "Books", "where": where}},
        )
        queries = [body["query"] for _, path, body in server.seen if path == "/v1/graphql"]
        assert "nearVector: {vector: [0.5, -0.5]}, limit: 3" in queries[1]
        assert f'valueText: ["{A}", "{B}"]' in queries[0]


async def test_pinecone() -> None:
    kept = {"id": str(A), "metadata": {"mark": "mark"}}

    def answer(seen: Seen) -> tuple[int, Any]:
        match seen:
            case ("GET", path, _) if path.startswith("/vectors/fetch?"):
                return 200, {"vectors": {part: kept for part in ids_in(path) if part != str(B)}}
            case ("POST", "/describe_index_stats", _):
                return 200, {"dimension": 2, "namespaces": {}}
            case ("POST", "/query", body):
                assert body["topK"] == 4
                return 200, {"matches": [{"id": str(A), "score": 0.9}]}
        return 200, {}

    async with served(answer) as server:
        store = PineconeVectors("books", url=server.url, api_key=KEY)
        assert await everything(store) == ["mark", {A}, [A]]
        assert {headers["Api-Key"] for headers in server.headers} == {KEY}
        bodies = [(path, body) for _, path, body in server.seen]
        assert ("/vectors/delete", {"deleteAll": True, "namespace": "books"}) in bodies
        assert ("/vectors/delete", {"ids": [str(B)], "namespace": "books"}) in bodies
        put = {"vectors": [{"id": str(A), "values": [0.5, -0.5]}], "namespace": "books"}
        assert ("/vectors/upsert", put) in bodies
        with pytest.raises(StoreError, match="has vectors of 2 numbers, and the embedding model"):
            await store.create("mark", dimensions=3)
        await store.close()


def ids_in(path: str) -> list[str]:
    query = path.split("?", 1)[1].split("&")
    return [part.removeprefix("ids=") for part in query if part.startswith("ids=")]


async def test_azure_ai_search() -> None:
    version = "?api-version=2024-07-01"

    def answer(seen: Seen) -> tuple[int, Any]:
        match seen:
            case ("GET", path, _) if "docs('mark')" in path or "docs(%27mark%27)" in path:
                return 200, {"id": "mark", "mark": "mark"}
            case ("POST", path, body) if path == f"/indexes/my-books/docs/index{version}":
                return 200, {
                    "value": [{"key": each["id"], "status": True} for each in body["value"]]
                }
            case ("POST", path, _) if path == f"/indexes/my-books/docs/search{version}":
                return 200, {"value": [{"id": "mark"}, {"id": str(A)}]}
        return 200, {"name": "my-books"}

    async with served(answer) as server:
        store = AzureSearchVectors("My_books", url=server.url, api_key=KEY)
        assert await everything(store) == ["mark", {A}, [A]]
        assert {headers["api-key"] for headers in server.headers} == {KEY}
        made = server.seen[1]
        assert made[:2] == ("PUT", f"/indexes/my-books{version}")
        [vector] = [each for each in made[2]["fields"] if each["name"] == "vector"]
        assert (vector["type"], vector["dimensions"]) == ("Collection(Edm.Single)", 2)
        changes = [body["value"] for _, path, body in server.seen if "/docs/index" in path]
        assert changes[1:] == [
            [{"@search.action": "upload", "id": str(A), "vector": [0.5, -0.5]}],
            [{"@search.action": "delete", "id": str(B)}],
        ]
        searches = [body for _, path, body in server.seen if "/docs/search" in path]
        assert searches[0]["filter"] == f"search.in(id, '{A},{B}', ',')"
        [query] = searches[1]["vectorQueries"]
        assert query == {"kind": "vector", "vector": [0.5, -0.5], "fields": "vector", "k": 3}


async def test_a_key_that_is_refused_is_told() -> None:
    async with served(lambda _: (401, {"message": "bad key"})) as server:
        store = WeaviateVectors("books", url=server.url, api_key=KEY)
        with pytest.raises(StoreError, match=r"Weaviate at http.* 401 .*; check the key"):
            await store.mark()
        await store.close()


async def test_a_busy_server_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "_PAUSES", (0.0, 0.0))
    answers = iter([(503, {}), (429, {}), (200, {"description": "mark"})])
    async with served(lambda _: next(answers)) as server:
        store = WeaviateVectors("books", url=server.url)
        assert await store.mark() == "mark"
        assert len(server.seen) == 3
        await store.close()


async def test_a_vector_that_is_not_taken_is_an_error() -> None:
    def refuse(seen: Seen) -> tuple[int, Any]:
        if "batch" in seen[1]:
            return 200, [{"result": {"errors": {"error": [{"message": "wrong length"}]}}}]
        return 200, {"value": [{"key": "x", "status": False, "errorMessage": "wrong length"}]}

    async with served(refuse) as server:
        for kind in (WeaviateVectors, AzureSearchVectors):
            store = kind("books", url=server.url)
            with pytest.raises(StoreError, match=r"does not take a vector: .*wrong length"):
                await store.put({A: VECTOR})
            await store.close()
