"""Every vector store holds every contract: real servers and real files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holodeck_backend_claude.retrieval.stores.chroma import ChromaVectors
from holodeck_backend_claude.retrieval.stores.contract import VectorStore
from holodeck_backend_claude.testing.vector_stores import OpenStore, check_vector_store, made
from tests.support.chroma import chroma_server
from tests.support.postgres import PostgresServer


def on_postgres(postgres: PostgresServer, _folder: Path) -> OpenStore:
    from holodeck_backend_claude.retrieval.stores.postgres import PostgresVectors

    url = postgres.new_schema()
    return lambda name: PostgresVectors(url, name)


def on_qdrant(_postgres: PostgresServer, folder: Path) -> OpenStore:
    from holodeck_backend_claude.retrieval.stores.qdrant import QdrantVectors

    return lambda name: QdrantVectors(name, path=folder)


def on_faiss(_postgres: PostgresServer, folder: Path) -> OpenStore:
    from holodeck_backend_claude.retrieval.stores.faiss import FaissVectors

    return lambda name: FaissVectors(folder, name)


@pytest.fixture
def chroma() -> Iterator[str]:
    with chroma_server() as url:
        yield url


async def test_chroma_holds_every_contract(chroma: str) -> None:
    await check_vector_store(lambda name: ChromaVectors(name, url=chroma))


@pytest.mark.parametrize("on", [on_postgres, on_qdrant, on_faiss])
async def test_a_store_holds_every_contract(
    on: object, postgres: PostgresServer, tmp_path: Path
) -> None:
    assert callable(on)
    await check_vector_store(on(postgres, tmp_path))


async def test_a_store_that_breaks_a_contract_is_told_by_number(tmp_path: Path) -> None:
    from holodeck_backend_claude.retrieval.stores.faiss import FaissVectors

    class Forgetful(FaissVectors):
        async def remove(self, ids: object) -> None: ...

    def open_store(name: str) -> VectorStore:
        return Forgetful(tmp_path, name)

    with pytest.raises(AssertionError, match=r"contract 9, what is removed is not found"):
        await check_vector_store(open_store)


async def test_a_faiss_file_that_another_process_replaced_is_read_anew(tmp_path: Path) -> None:
    from holodeck_backend_claude.retrieval.stores.faiss import FaissVectors

    ours, theirs = FaissVectors(tmp_path, "c"), FaissVectors(tmp_path, "c")
    vectors = made(3)
    first, second, third = ({number: row} for number, row in vectors.items())
    await ours.create("mark", dimensions=8)
    await ours.put(first)
    await theirs.put(second)
    await ours.put(third)
    assert await theirs.has(list(vectors)) == set(vectors)
    await theirs.drop()
    assert await ours.mark() is None
