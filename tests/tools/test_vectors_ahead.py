"""A search tool whose vectors take long is searched by keyword until they are made."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from queue import Queue
from threading import Thread

import numpy as np
import pytest
from numpy.typing import NDArray

from holodeck_backend_claude.config import HierarchicalDocumentToolConfig, VectorstoreTool
from holodeck_backend_claude.contract import Embedder
from holodeck_backend_claude.retrieval import RetrievalError
from holodeck_backend_claude.retrieval.indexing import vectorize, vectors
from holodeck_backend_claude.tools import background, indexed
from holodeck_backend_claude.tools.hierarchical import HierarchicalDocumentTool
from holodeck_backend_claude.tools.vectorstore import VectorStoreTool
from tests.retrieval.lab import WordEmbedder

PASSAGES = 8


class GatedEmbedder(WordEmbedder):
    """Lets some calls through, and the others when the gate is opened."""

    def __init__(self, free_calls: int = 0) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.free_calls = free_calls
        self.waiting = asyncio.Event()

    async def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if len(self.calls) >= self.free_calls:
            self.waiting.set()
            await self.gate.wait()
        return await super().embed_documents(texts)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(indexed, "AHEAD_SECONDS", 0.05)
    monkeypatch.setattr(background, "STOP_SECONDS", 0.0)
    monkeypatch.setattr(vectorize, "TEXTS_PER_CALL", 1)
    monkeypatch.setattr(vectorize, "CALLS_AT_ONCE", 1)
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(PASSAGES):
        (docs / f"{number}.md").write_text(f"Passage {number} tells of thing{number}.\n")
    return tmp_path


@asynccontextmanager
async def opened(folder: Path, embedder: Embedder) -> AsyncIterator[VectorStoreTool]:
    config = VectorstoreTool(name="kb", description="Things", source="docs")
    tool = VectorStoreTool(config, base_dir=folder, cache_dir=folder / "cache", embedder=embedder)
    async with tool.opened():
        yield tool


async def test_passages_are_found_by_keyword_at_once_and_by_meaning_later(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = GatedEmbedder()
    async with opened(folder, embedder) as tool:
        [found] = await tool.results("thing3")
        assert found.source_path == "3.md"
        assert found.semantic_score is None
        assert "still being made" in caplog.text
        embedder.gate.set()
        await tool.embedded()
        best = (await tool.results("thing3"))[0]
        assert best.source_path == "3.md"
        assert best.semantic_score is not None
        assert tool.report is not None
        assert tool.report.embedded == PASSAGES
        assert "found by keyword only:" not in caplog.text


async def test_what_is_made_when_the_tool_is_closed_is_kept(folder: Path) -> None:
    first = GatedEmbedder(free_calls=3)
    async with opened(folder, first):
        await first.waiting.wait()
    second = WordEmbedder()
    async with opened(folder, second) as tool:
        await tool.embedded()
        assert len(second.texts) == PASSAGES - 3
        assert tool.report is not None
        assert tool.report.embedded == PASSAGES


async def test_a_second_one_does_not_wait_for_the_vectors_of_the_first(folder: Path) -> None:
    first, second = GatedEmbedder(), WordEmbedder()
    async with opened(folder, first) as slow, opened(folder, second) as tool:
        [found] = await tool.results("thing5")
        assert found.source_path == "5.md"
        first.gate.set()
        await slow.embedded()
        await tool.embedded()
        assert second.texts == []
        assert tool.report is not None
        assert tool.report.embedded == PASSAGES


async def test_vectors_that_cannot_be_written_in_the_background_are_told(
    folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = GatedEmbedder()

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    async with opened(folder, embedder) as tool:
        monkeypatch.setattr(vectors, "save_vectors", full)
        embedder.gate.set()
        with pytest.raises(RetrievalError, match="disk is full"):
            await tool.embedded()
        [found] = await tool.results("thing1")
        assert found.source_path == "1.md"
    assert "tool 'kb': vectors cannot be made: the index" in caplog.text


async def test_an_index_that_is_damaged_meanwhile_is_built_anew(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = GatedEmbedder()
    async with opened(folder, embedder) as tool:
        for file in (folder / "cache").glob("index.db*"):
            file.write_bytes(b"not a database" * 1_000)
        embedder.gate.set()
        await tool.embedded()
        assert tool.report is not None
        assert tool.report.embedded == PASSAGES
        assert (await tool.results("thing7"))[0].source_path == "7.md"
    assert "is built anew" in caplog.text


async def test_closing_twice_and_from_within_leaves_no_task(folder: Path) -> None:
    async with AsyncExitStack() as stack:
        tool = await stack.enter_async_context(opened(folder, GatedEmbedder()))
        await tool.close()
        await tool.close()
    assert [task.get_name() for task in asyncio.all_tasks() if "vectors" in task.get_name()] == []


async def test_short_work_is_waited_for_without_a_word(
    folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexed, "AHEAD_SECONDS", 30.0)
    caplog.set_level(logging.WARNING)
    async with opened(folder, WordEmbedder()) as tool:
        assert tool.report is not None
        assert tool.report.embedded == PASSAGES
    assert caplog.text == ""


async def test_a_passage_without_a_vector_is_not_behind_those_that_have_one(folder: Path) -> None:
    embedder = GatedEmbedder(free_calls=PASSAGES - 1)
    async with opened(folder, embedder) as tool:
        await embedder.waiting.wait()
        results = await tool.results(f"passage tells of thing{PASSAGES - 1}")
        assert [r.source_path for r in results if r.semantic_score is None] == ["7.md"]
        assert results[0].source_path == "7.md"


async def test_calls_under_way_at_the_close_are_waited_for_and_no_further_ones_are_made(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "STOP_SECONDS", 60.0)
    first = GatedEmbedder()
    async with AsyncExitStack() as stack:
        tool = await stack.enter_async_context(opened(folder, first))
        await first.waiting.wait()
        closing = asyncio.create_task(tool.close())
        await asyncio.sleep(0)
        first.gate.set()
        await closing
        assert len(first.texts) == 1
    second = WordEmbedder()
    async with opened(folder, second) as tool:
        await tool.embedded()
        assert len(second.texts) == PASSAGES - 1


async def test_a_search_by_meaning_alone_is_open_when_all_vectors_are_made(folder: Path) -> None:
    embedder = GatedEmbedder()
    config = HierarchicalDocumentToolConfig(
        name="kb", description="Things", source="docs", search_mode="semantic"
    )
    tool = HierarchicalDocumentTool(
        config, base_dir=folder, cache_dir=folder / "cache", embedder=embedder
    )

    async def embedded() -> int | None:
        async with tool.opened():
            return tool.report.embedded if tool.report else None

    opening = asyncio.create_task(embedded())
    await embedder.waiting.wait()
    done, _ = await asyncio.wait({opening}, timeout=4 * indexed.AHEAD_SECONDS)
    assert not done
    embedder.gate.set()
    assert await opening == PASSAGES


async def test_an_opening_that_is_cancelled_leaves_no_task(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexed, "AHEAD_SECONDS", 600.0)
    embedder = GatedEmbedder()

    async def use() -> None:
        async with opened(folder, embedder):
            raise AssertionError("the vectors are not made")

    opening = asyncio.create_task(use())
    await embedder.waiting.wait()
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert [task.get_name() for task in asyncio.all_tasks() if "vectors" in task.get_name()] == []


async def test_a_tool_is_waited_for_and_closed_from_another_event_loop(folder: Path) -> None:
    tools: Queue[VectorStoreTool] = Queue()

    async def hold() -> None:
        async with opened(folder, GatedEmbedder()) as tool:
            tools.put(tool)
            while tool.is_initialized:
                await asyncio.sleep(0.01)

    thread = Thread(target=lambda: asyncio.run(hold()))
    thread.start()
    tool = await asyncio.to_thread(tools.get)
    waiting = asyncio.create_task(tool.embedded())
    assert (await tool.results("thing3"))[0].source_path == "3.md"
    assert not waiting.done()
    await tool.close()
    await waiting
    await asyncio.to_thread(thread.join)


async def test_texts_that_another_run_removes_meanwhile_are_not_embedded(folder: Path) -> None:
    embedder = GatedEmbedder()
    async with opened(folder, embedder) as tool:
        await embedder.waiting.wait()
        (folder / "docs" / "5.md").write_text("Passage 5 tells of something new.\n")
        (folder / "docs" / "6.md").unlink()
        async with opened(folder, WordEmbedder()) as other:
            embedder.gate.set()
            await tool.embedded()
            await other.embedded()
            assert other.report is not None
            assert (other.report.chunks, other.report.embedded) == (7, 7)
            found = {r.source_path: r.semantic_score for r in await other.results("something new")}
            assert found["5.md"] is not None
    assert not [text for text in embedder.texts if not text or "thing6" in text]
