"""A search tool whose vectors are in a store: kept in line, found, and mended."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from holodeck_backend_claude.config import DatabaseConfig, VectorstoreTool
from holodeck_backend_claude.contract import ConfigError
from holodeck_backend_claude.hookspecs import ToolContext
from holodeck_backend_claude.retrieval import StoreError
from holodeck_backend_claude.retrieval.indexing import remote
from holodeck_backend_claude.retrieval.ranking.matrix import MatrixCache
from holodeck_backend_claude.retrieval.stores import opening
from holodeck_backend_claude.retrieval.stores.postgres import PostgresVectors
from holodeck_backend_claude.tools.vectorstore import VectorStoreTool, open_vectorstore
from tests.retrieval.lab import WordEmbedder
from tests.support.postgres import PostgresServer


async def ask_nobody(prompt: str) -> str:
    raise AssertionError(prompt)


class Library:
    """A tool over a folder of documents, which is opened again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.docs = folder / "docs"
        self.docs.mkdir()
        self.embedder = WordEmbedder()
        for word in ("apples", "pears", "plums"):
            self.write(word, f"All about {word}.")

    def write(self, name: str, text: str) -> None:
        (self.docs / f"{name}.md").write_text(text)

    @asynccontextmanager
    async def opened(
        self, database: DatabaseConfig | None, *, agent: str = "agent", anew: bool = False
    ) -> AsyncIterator[VectorStoreTool]:
        config = VectorstoreTool(name="kb", description="Fruit", source="docs", database=database)
        context = ToolContext(
            base_dir=self.folder,
            cache_dir=self.folder / "tools" / agent / "kb",
            embeddings=lambda: self.embedder,
            ask_model=ask_nobody,
            progress=lambda *_: None,
            log=logging.getLogger("holodeck_backend_claude.tool.kb"),
            anew=anew,
        )
        async with open_vectorstore(config, context) as tool:
            await tool.embedded()
            yield tool


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path)


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.new_schema()


@pytest.fixture
def database(url: str) -> DatabaseConfig:
    return DatabaseConfig(provider="postgres", connection_string=url, collection="fruit")


def in_table(url: str, query: str = "SELECT id FROM fruit") -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(query.encode())
        return cursor.fetchall() if cursor.description else []


async def test_passages_are_found_through_the_store_and_no_matrix_is_loaded(
    library: Library, database: DatabaseConfig, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MatrixCache, "current", lambda *_: pytest.fail("loaded"))
    async with library.opened(database) as tool:
        found = await tool.results("pears")
        assert found[0].source_path == "pears.md"
        assert found[0].semantic_score == pytest.approx(
            library.embedder.vector("All about pears.") @ library.embedder.vector("pears") / 3**0.5,
            abs=0.01,
        )
        assert len(found) == 3
    assert len(in_table(url)) == 3


async def test_an_index_is_moved_without_embedding_anything_again(
    library: Library, database: DatabaseConfig, url: str
) -> None:
    async with library.opened(None) as tool:
        before = await tool.results("plums and pears")
    embedded = len(library.embedder.texts)
    async with library.opened(database) as tool:
        assert await tool.results("plums and pears") == before
    assert len(library.embedder.texts) == embedded
    assert len(in_table(url)) == 3


async def test_a_second_start_sends_nothing(
    library: Library, database: DatabaseConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with library.opened(database):
        pass
    monkeypatch.setattr(PostgresVectors, "put", lambda *_: pytest.fail("sent"))
    async with library.opened(database) as tool:
        assert (await tool.results("apples"))[0].source_path == "apples.md"


async def test_what_changed_or_is_gone_leaves_nothing_behind(
    library: Library, database: DatabaseConfig, url: str
) -> None:
    async with library.opened(database):
        before = set(in_table(url))
    library.write("apples", "All about quinces.")
    (library.docs / "plums.md").unlink()
    async with library.opened(database) as tool:
        assert (await tool.results("quinces"))[0].source_path == "apples.md"
        assert {each.source_path for each in await tool.results("plums")} == {
            "apples.md",
            "pears.md",
        }
    after = set(in_table(url))
    assert len(after) == 2
    assert len(after & before) == 1


async def test_a_run_that_was_cut_off_is_mended_by_the_next(
    library: Library, database: DatabaseConfig, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "MOST_AT_ONCE", 1)
    put = PostgresVectors.put
    sent: list[UUID] = []

    async def cut_off(self: PostgresVectors, vectors: Mapping[UUID, Any]) -> None:
        if len(sent) == 2:
            raise StoreError("cut off")
        sent.extend(vectors)
        await put(self, vectors)
        if len(sent) == 2:  # the store has it, and the index does not know
            raise StoreError("cut off")

    monkeypatch.setattr(PostgresVectors, "put", cut_off)
    with pytest.raises(StoreError, match="cut off"):
        async with library.opened(database):
            pass
    assert len(in_table(url)) == 2
    monkeypatch.setattr(PostgresVectors, "put", put)
    async with library.opened(database) as tool:
        assert len(await tool.results("apples")) == 3
    assert len(in_table(url)) == 3


async def test_what_somebody_else_removed_is_sent_again(
    library: Library, database: DatabaseConfig, url: str
) -> None:
    async with library.opened(database):
        pass
    in_table(url, "DELETE FROM fruit WHERE id = (SELECT id FROM fruit LIMIT 1)")
    async with library.opened(database):
        assert len(in_table(url)) == 3
    in_table(url, "DROP TABLE fruit")
    async with library.opened(database) as tool:
        assert len(in_table(url)) == 3
        assert (await tool.results("plums"))[0].source_path == "plums.md"


async def test_a_document_that_went_with_vectors_of_others_leaves_none_behind(
    library: Library, database: DatabaseConfig, url: str
) -> None:
    async with library.opened(database):
        before = set(in_table(url))
    library.write("apples", "All about quinces.")
    async with library.opened(database):
        [quinces] = set(in_table(url)) - before
    in_table(url, f"DELETE FROM fruit WHERE id = '{quinces[0]}'")
    (library.docs / "plums.md").unlink()
    async with library.opened(database):
        left = set(in_table(url))
    assert quinces in left
    assert len(left) == 2


async def test_another_model_and_force_fill_the_collection_anew(
    library: Library, database: DatabaseConfig, url: str
) -> None:
    async with library.opened(database):
        pass
    library.embedder = WordEmbedder(fingerprint="words-2", dimensions=32)
    async with library.opened(database) as tool:
        assert (await tool.results("plums"))[0].source_path == "plums.md"
    in_table(url, "INSERT INTO fruit SELECT gen_random_uuid(), vector FROM fruit")
    assert len(in_table(url)) == 6
    embedded = len(library.embedder.texts)
    async with library.opened(database, anew=True):
        assert len(in_table(url)) == 3
    assert len(library.embedder.texts) == embedded + 3


async def test_unknown_vectors_of_a_collection_hide_nothing(
    library: Library, database: DatabaseConfig, url: str
) -> None:
    async with library.opened(database) as tool:
        in_table(url, "INSERT INTO fruit SELECT gen_random_uuid(), vector FROM fruit")
        assert (await tool.results("plums"))[0].source_path == "plums.md"


async def test_a_collection_of_somebody_else_is_left_alone(
    library: Library, database: DatabaseConfig, url: str
) -> None:
    async with library.opened(database):
        pass
    with pytest.raises(StoreError, match="it belongs to 'agent/kb"):
        async with library.opened(database, agent="another"):
            pass
    in_table(url, "DROP TABLE fruit")
    in_table(url, "CREATE TABLE fruit (id int)")
    with pytest.raises(StoreError, match=r"it is not ours; give this tool another"):
        async with library.opened(database):
            pass
    in_table(url, "INSERT INTO fruit VALUES (1)")  # it is as it was


async def test_two_agents_have_two_collections_by_themselves(library: Library, url: str) -> None:
    database = DatabaseConfig(provider="postgres", connection_string=url)
    async with library.opened(database), library.opened(database, agent="another"):
        tables = in_table(
            url, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        )
    assert len(set(tables)) == 2


async def test_a_store_that_is_not_there_is_told_without_its_password(
    library: Library,
) -> None:
    database = DatabaseConfig(
        provider="postgres", connection_string="postgresql://me:geheim77@127.0.0.1:9/db"
    )
    with pytest.raises(StoreError, match=r"PostgreSQL 'db' on 127\.0\.0\.1:9") as caught:
        async with library.opened(database):
            pass
    assert "geheim77" not in str(caught.value)


async def test_a_store_that_goes_away_leaves_search_by_keyword(
    library: Library,
    database: DatabaseConfig,
    postgres: PostgresServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with library.opened(database) as tool:
        postgres.stop()
        try:
            [found] = await tool.results("pears")
            assert found.source_path == "pears.md"
            assert found.semantic_score is None
        finally:
            postgres.start()
        assert "this search is by keyword only: the vector store PostgreSQL" in caplog.text
        assert (await tool.results("pears"))[0].semantic_score is not None


async def test_faiss_and_qdrant_keep_their_folder_beside_agent_yaml(library: Library) -> None:
    for provider in ("faiss", "qdrant"):
        database = DatabaseConfig(provider=provider, path=f"vectors/{provider}")
        async with library.opened(database) as tool:
            assert (await tool.results("plums"))[0].source_path == "plums.md"
        assert list((library.folder / "vectors" / provider).iterdir())


async def test_a_package_that_is_missing_is_named_with_its_extra(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"holodeck-backend-claude\[qdrant\]"):
        async with library.opened(DatabaseConfig(provider="qdrant", path="q")):
            pass
