"""The vectorstore tool: its settings, the text it gives, what it says, and that it mends itself."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError

from holodeck_backend_claude.config import VectorstoreTool
from holodeck_backend_claude.contract import ConfigError, Embedder, HoloDeckError
from holodeck_backend_claude.retrieval import Skipped, make_embedder
from holodeck_backend_claude.tools.vectorstore import VectorStoreTool

Floats = NDArray[np.float32]
Open = Callable[..., Awaitable[VectorStoreTool]]


class WordEmbedder:
    """Texts with common words are similar."""

    fingerprint = "words"
    dimensions = 64

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.closed = 0

    async def embed_documents(self, texts: Sequence[str]) -> Floats:
        self.texts += texts
        return np.stack([self._vector(text) for text in texts])

    async def embed_query(self, text: str) -> Floats:
        return self._vector(text)

    async def close(self) -> None:
        self.closed += 1

    def _vector(self, text: str) -> Floats:
        vector = np.full(self.dimensions, 1e-3, np.float32)
        for word in re.findall(r"\w+", text.lower()):
            digest = hashlib.sha256(word.encode()).digest()
            vector[int.from_bytes(digest[:4], "big") % self.dimensions] += 1
        return vector


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Three documents."""
    folder = tmp_path / "docs"
    (folder / "legal").mkdir(parents=True)
    (folder / "legal" / "refunds.md").write_text("# Refunds\n\nMoney comes back in 30 days.")
    (folder / "shipping.md").write_text("# Shipping\n\nParcels go all over the world.")
    (folder / "jobs.txt").write_text("We are looking for a gardener.")
    return folder


@pytest.fixture
async def open_tool(tmp_path: Path, embedder: WordEmbedder) -> AsyncIterator[Open]:
    """``await open_tool(embedder=…, **settings)``: an initialized tool over ``docs``."""
    opened: list[VectorStoreTool] = []

    async def open_one(*, embedder: Embedder | None = embedder, **settings: Any) -> VectorStoreTool:
        tool = make(tmp_path, embedder, **settings)
        opened.append(tool)
        await tool.initialize()
        return tool

    yield open_one
    for tool in opened:
        await tool.close()


def make(base: Path, embedder: Embedder | None, **settings: Any) -> VectorStoreTool:
    given = {"name": "kb", "description": "Policies", "source": "docs", **settings}
    return VectorStoreTool(
        VectorstoreTool(**given), base_dir=base, cache_dir=base / "cache", embedder=embedder
    )


@pytest.mark.usefixtures("docs")
class TestText:
    async def test_results_are_numbered_with_score_and_source(self, open_tool: Open) -> None:
        tool = await open_tool(top_k=2)
        text = await tool.search("money back in 30 days")
        assert re.fullmatch(
            r"Found 2 result\(s\):\n"
            r"\n"
            r"\[1\] Score: 1\.00 \| Source: legal/refunds\.md\n"
            r"# Refunds\n\nMoney comes back in 30 days\.\n"
            r"\n"
            r"\[2\] Score: 0\.\d\d \| Source: \S+\n"
            r"[^\[]+",
            text,
        )

    async def test_nothing_found_is_an_empty_text(self, open_tool: Open) -> None:
        tool = await open_tool(embedder=None)
        assert await tool.search("xylophone") == ""
        assert await tool.search("") == ""

    async def test_results_are_there_as_objects_too(self, open_tool: Open) -> None:
        tool = await open_tool(top_k=1)
        (result,) = await tool.results("money back in 30 days")
        assert result.parent_chain == ["Refunds"]
        assert result.format().startswith("Score: 1.000 | Source: legal/refunds.md\nLocation: ")


@pytest.mark.usefixtures("docs")
class TestSettings:
    async def test_top_k_bounds_the_results(self, open_tool: Open) -> None:
        for top_k in (1, 2, 3):
            tool = await open_tool(top_k=top_k)
            assert (await tool.search("the")).startswith(f"Found {top_k} result(s):")

    async def test_min_similarity_score_leaves_out_what_is_less_similar(
        self, open_tool: Open
    ) -> None:
        query = "money comes back in 30 days"
        everything = await (await open_tool()).results(query)
        strict = await (await open_tool(min_similarity_score=0.5)).results(query)
        assert len(everything) == 3
        assert [result.source_path for result in strict] == ["legal/refunds.md"]
        assert all((result.semantic_score or 0) >= 0.5 for result in strict)
        assert await (await open_tool(min_similarity_score=1.0)).search("gardener") == ""

    async def test_min_similarity_score_has_an_effect_by_keyword_too(self, open_tool: Open) -> None:
        query = "gardener looking over the world"
        everything = await (await open_tool(embedder=None)).results(query)
        strict = await (await open_tool(embedder=None, min_similarity_score=0.9)).results(query)
        assert len(everything) == 2
        assert len(strict) == 1

    async def test_chunk_size_and_overlap_decide_about_the_passages(
        self, docs: Path, open_tool: Open
    ) -> None:
        (docs / "long.txt").write_text(" ".join(f"Sentence {n} says it." for n in range(100)))
        chunks = [
            (await open_tool(chunk_size=size, chunk_overlap=overlap)).report
            for size, overlap in ((200, 0), (50, 0), (50, 20))
        ]
        counts = [report.chunks for report in chunks if report]
        assert counts == sorted(counts)
        assert len(set(counts)) == 3

    async def test_a_single_file_may_be_the_source(self, open_tool: Open) -> None:
        tool = await open_tool(source="docs/legal/refunds.md")
        assert "Source: refunds.md" in await tool.search("money")

    async def test_an_absolute_source_does_not_depend_on_the_base(
        self, docs: Path, open_tool: Open
    ) -> None:
        tool = await open_tool(source=str(docs))
        assert "legal/refunds.md" in await tool.search("money")


class TestLifeCycle:
    def test_it_opens_nothing_when_made(self, tmp_path: Path) -> None:
        tool = make(tmp_path, None)
        assert not tool.is_initialized
        assert list(tmp_path.iterdir()) == []

    async def test_a_search_before_initialize_is_an_error_that_names_the_tool(
        self, tmp_path: Path
    ) -> None:
        with pytest.raises(HoloDeckError, match="Tool 'kb' is not initialized"):
            await make(tmp_path, None).search("text")

    async def test_a_missing_source_is_an_error_and_leaves_it_uninitialized(
        self, tmp_path: Path
    ) -> None:
        tool = make(tmp_path, None)
        with pytest.raises(ConfigError, match=re.escape(str(tmp_path / "docs"))):
            await tool.initialize()
        assert not tool.is_initialized
        await tool.close()

    @pytest.mark.usefixtures("docs")
    async def test_a_second_start_embeds_nothing(
        self, open_tool: Open, embedder: WordEmbedder
    ) -> None:
        first = await open_tool()
        await first.close()
        embedded = len(embedder.texts)
        second = await open_tool()
        assert len(embedder.texts) == embedded
        assert second.is_initialized
        assert "refunds.md" in await second.search("money")

    @pytest.mark.usefixtures("docs")
    async def test_close_may_be_called_twice_and_ends_the_use(self, open_tool: Open) -> None:
        tool = await open_tool()
        await tool.close()
        await tool.close()
        assert not tool.is_initialized

    @pytest.mark.usefixtures("docs")
    async def test_close_leaves_the_embedder_to_whoever_gave_it(
        self, open_tool: Open, embedder: WordEmbedder
    ) -> None:
        await (await open_tool()).close()
        assert embedder.closed == 0

    @pytest.mark.usefixtures("docs")
    async def test_it_can_be_initialized_again(self, docs: Path, open_tool: Open) -> None:
        tool = await open_tool()
        (docs / "new.txt").write_text("An xylophone.")
        await tool.initialize()
        assert "new.txt" in await tool.search("xylophone")

    @pytest.mark.usefixtures("docs")
    async def test_searches_run_at_once(self, open_tool: Open) -> None:
        tool = await open_tool(top_k=1)
        texts = await asyncio.gather(*(tool.search(q) for q in ["money", "gardener"] * 10))
        assert set(texts[::2]) != set(texts[1::2])
        assert all(len(set(half)) == 1 for half in (texts[::2], texts[1::2]))


@pytest.mark.usefixtures("docs")
class TestReporting:
    async def test_the_report_tells_what_is_there_and_what_not(
        self, docs: Path, open_tool: Open
    ) -> None:
        (docs / "scan.odt").write_bytes(b"%PDF-1.7")
        report = (await open_tool()).report
        assert report is not None
        assert (report.files, report.chunks, report.embedded, report.mode) == (3, 3, 3, "hybrid")
        assert report.skipped == (Skipped("scan.odt", "not supported: .odt"),)

    async def test_keyword_only_search_is_said_once_and_how_to_change_it(
        self, open_tool: Open, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.WARNING):
            tool = await open_tool(embedder=None)
            await tool.search("money")
            await tool.search("gardener")
        (message,) = [record.message for record in caplog.records]
        assert "search is by keyword only" in message
        assert 'pip install "holodeck-backend-claude[local]"' in message
        assert tool.report is not None
        assert tool.report.mode == "keyword"

    async def test_many_files_with_one_cause_are_one_message(
        self, docs: Path, open_tool: Open, caplog: pytest.LogCaptureFixture
    ) -> None:
        for number in range(50):
            (docs / f"{number:02}.png").write_bytes(b"")
        with caplog.at_level(logging.WARNING):
            await open_tool()
        (message,) = [record.message for record in caplog.records]
        assert message.endswith(
            "not indexed: 00.png, 01.png, 02.png, 03.png, 04.png and 45 more: not supported: .png"
        )

    async def test_files_broken_at_different_places_are_one_message(
        self, docs: Path, open_tool: Open, caplog: pytest.LogCaptureFixture
    ) -> None:
        for number in range(50):
            text = "Ä" * (number + 5)
            (docs / f"{number:02}.md").write_bytes(text.encode() + b"\xc3\n")
        with caplog.at_level(logging.WARNING):
            await open_tool()
        (message,) = [record.message for record in caplog.records]
        assert message.endswith("and 45 more: it is broken UTF-8; save it as UTF-8")

    async def test_nothing_is_printed(
        self, open_tool: Open, capfd: pytest.CaptureFixture[str]
    ) -> None:
        await (await open_tool(embedder=None)).search("money")
        assert capfd.readouterr().out == ""

    async def test_progress_and_log_are_those_that_are_given(
        self, tmp_path: Path, embedder: WordEmbedder, caplog: pytest.LogCaptureFixture
    ) -> None:
        told: list[tuple[str, int, int]] = []
        tool = VectorStoreTool(
            VectorstoreTool(name="kb", description="x", source="docs"),
            base_dir=tmp_path,
            cache_dir=tmp_path / "cache",
            embedder=embedder,
            progress=lambda *step: told.append(step),
            log=logging.getLogger("of.this.tool"),
        )
        with caplog.at_level(logging.INFO):
            await tool.initialize()
        await tool.close()
        assert told[-1] == ("embedding", 3, 3)
        assert {record.name for record in caplog.records} == {"of.this.tool"}


@pytest.mark.usefixtures("docs")
async def test_an_index_that_turns_out_damaged_in_a_search_is_built_anew(
    tmp_path: Path, open_tool: Open, caplog: pytest.LogCaptureFixture
) -> None:
    tool = await open_tool()
    with sqlite3.connect(tmp_path / "cache" / "index.db") as db:
        db.execute("UPDATE keywords_data SET block = x'0102' WHERE id > 10")
    db.close()
    with caplog.at_level(logging.WARNING):
        texts = await asyncio.gather(*(tool.search("money back in 30 days") for _ in range(5)))
    assert all("legal/refunds.md" in text for text in texts)
    assert caplog.text.count("is built anew") == 1


async def test_with_the_local_model_a_question_finds_its_answer_in_other_words(
    docs: Path, open_tool: Open
) -> None:
    pytest.importorskip("onnxruntime", reason="the extra [local] is not installed")
    tool = await open_tool(embedder=make_embedder(None, {}), top_k=1)
    assert "legal/refunds.md" in await tool.search("How do I get reimbursed?")
    assert "jobs.txt" in await tool.search("vacancies in horticulture")


class TestRecords:
    ROWS = "sku,title,text,price\nL1,Lamp,Gives warm light.,9.50\nD2,Desk,Has four legs.,80\n"

    async def test_results_are_told_with_id_content_and_metadata(
        self, tmp_path: Path, embedder: WordEmbedder
    ) -> None:
        (tmp_path / "items.csv").write_text(self.ROWS)
        tool = make(
            tmp_path,
            embedder,
            source="items.csv",
            id_field="sku",
            vector_field=["title", "text"],
            meta_fields=["title", "price"],
            field_separator=": ",
            record_prefix="item_",
            top_k=1,
        )
        await tool.initialize()
        assert await tool.search("lamp gives warm light") == (
            "Found 1 result(s):\n"
            "\n"
            "[1] ID: L1 | Score: 1.00\n"
            "Content: Lamp: Gives warm light.\n"
            "Metadata: item_title: Lamp, item_price: 9.50"
        )
        await tool.close()

    async def test_one_bad_file_does_not_stop_the_others(
        self, tmp_path: Path, embedder: WordEmbedder
    ) -> None:
        docs = tmp_path / "docs"
        docs.mkdir()
        (docs / "items.csv").write_text(self.ROWS)
        (docs / "bad.json").write_text('[{"sku": "X"}]')
        (docs / "notes.md").write_text("# Notes\n\nText.")
        tool = make(tmp_path, embedder, id_field="sku", vector_field="text")
        await tool.initialize()
        assert tool.report is not None
        assert (tool.report.files, tool.report.chunks) == (1, 2)
        assert [(skipped.path, skipped.cause[:24]) for skipped in tool.report.skipped] == [
            ("bad.json", "record 1 has no 'text' ("),
            ("notes.md", "it holds no records: wit"),
        ]
        await tool.close()

    @pytest.mark.parametrize(
        ("given", "why"),
        [
            ({"vector_field": "text"}, "which need 'id_field'"),
            ({"id_field": "sku"}, "it needs 'vector_field'"),
            ({"meta_fields": ["a"]}, "'meta_fields' is about records"),
            ({"vector_field": [], "id_field": "a"}, "at least 1 item"),
            ({"vector_field": "a", "id_field": "b", "delimiter": ";;"}, "at most 1 character"),
        ],
    )
    def test_settings_that_do_not_go_together_are_refused(
        self, tmp_path: Path, given: dict[str, Any], why: str
    ) -> None:
        with pytest.raises(ValidationError, match=why):
            make(tmp_path, None, **given)
