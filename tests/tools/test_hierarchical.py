"""The hierarchical document tool: every setting has its effect; results say where they stand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from holodeck_backend_claude.config import HierarchicalDocumentToolConfig
from holodeck_backend_claude.contract import ConfigError, Embedder
from holodeck_backend_claude.tools.hierarchical import HierarchicalDocumentTool
from tests.retrieval.lab import WordEmbedder

Open = Callable[..., Awaitable[HierarchicalDocumentTool]]

HANDBOOK = """\
# Handbook

Read before use.

## Refunds

Money comes back in 30 days. A receipt is needed.

### Exceptions

Gift cards are never paid out.

## Shipping

Parcels travel by rail. The receipt is in the parcel.
"""


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
async def open_tool(tmp_path: Path, embedder: WordEmbedder) -> AsyncIterator[Open]:
    """``await open_tool(**settings)``: an initialized tool over the handbook."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "handbook.md").write_text(HANDBOOK)
    opened: list[HierarchicalDocumentTool] = []

    async def open_one(
        *, embedder: Embedder | None = embedder, **settings: Any
    ) -> HierarchicalDocumentTool:
        tool = make(tmp_path, embedder, **settings)
        opened.append(tool)
        await tool.initialize()
        return tool

    yield open_one
    for tool in opened:
        await tool.close()


def make(base: Path, embedder: Embedder | None, **settings: Any) -> HierarchicalDocumentTool:
    given = {"name": "law", "description": "Rules", "source": "docs", **settings}
    return HierarchicalDocumentTool(
        HierarchicalDocumentToolConfig(**given),
        base_dir=base,
        cache_dir=base / f"cache-{len(settings)}",
        embedder=embedder,
    )


async def test_a_result_says_under_which_headings_it_stands(open_tool: Open) -> None:
    best = (await (await open_tool()).search("gift cards are never paid out"))[0]
    assert best.parent_chain == ["Handbook", "Refunds", "Exceptions"]
    assert best.section_id == "exceptions"
    assert best.format() == (
        f"Score: {best.fused_score:.3f} | Source: handbook.md\n"
        "Location: Handbook > Refunds > Exceptions\n"
        "Section: exceptions\n"
        "\n"
        "### Exceptions\n\nGift cards are never paid out."
    )


class TestSearchMode:
    QUERY = "receipt is needed"

    async def scored(self, open_tool: Open, query: str = QUERY, **settings: Any) -> dict[str, Any]:
        results = await (await open_tool(**settings)).search(query)
        return {result.section_id: result for result in results}

    async def test_semantic_ranks_everything_by_its_cosine(self, open_tool: Open) -> None:
        found = await self.scored(open_tool, search_mode="semantic")
        assert len(found) == 4
        for result in found.values():
            assert result.fused_score == pytest.approx(result.semantic_score)
            assert result.keyword_score is None

    async def test_keyword_finds_only_what_has_a_word_of_the_query(
        self, open_tool: Open, embedder: WordEmbedder
    ) -> None:
        found = await self.scored(open_tool, search_mode="keyword")
        assert set(found) == {"refunds", "shipping"}
        assert found["refunds"].fused_score == found["refunds"].keyword_score == 1.0
        assert (embedder.calls, embedder.queries) == ([], [])

    async def test_exact_finds_only_what_holds_the_query_word_for_word(
        self, open_tool: Open, embedder: WordEmbedder
    ) -> None:
        found = await self.scored(open_tool, search_mode="exact")
        assert set(found) == {"refunds"}
        assert found["refunds"].exact_match
        assert found["refunds"].fused_score == 1.0
        assert embedder.calls == []

    @pytest.mark.parametrize(
        ("query", "sections"),
        [
            ('"Money COMES back"', {"refunds"}),
            ("needed receipt", set()),  # the same words in another order
            ("the receipts is in", set()),  # another form of a word
            ("in the parcel.", {"shipping"}),
            ("Exceptions", {"exceptions"}),  # the name of a section
            ("", set()),
            ('"', set()),
            ("  ***  ", set()),
        ],
    )
    async def test_exact_takes_a_query_as_it_is(
        self, open_tool: Open, query: str, sections: set[str]
    ) -> None:
        assert set(await self.scored(open_tool, query, search_mode="exact")) == sections

    async def test_hybrid_has_all_three(self, open_tool: Open) -> None:
        found = await self.scored(open_tool)
        best = found["refunds"]
        assert best.fused_score == pytest.approx(1.0)
        assert best.exact_match
        assert best.keyword_score == 1.0
        assert best.semantic_score is not None
        assert not found["shipping"].exact_match

    async def test_semantic_without_vectors_is_refused_and_says_what_to_do(
        self, tmp_path: Path
    ) -> None:
        with pytest.raises(ConfigError, match=r"needs vectors; set embedding_provider"):
            make(tmp_path, None, search_mode="semantic")


class TestWeights:
    async def order(self, open_tool: Open, *weights: float, **more: Any) -> list[str]:
        names = ("semantic_weight", "keyword_weight", "exact_weight")
        tool = await open_tool(**dict(zip(names, weights, strict=True)), **more)
        return [result.section_id for result in await tool.search("receipt is in the parcel")]

    async def test_a_leg_without_weight_has_no_part(
        self, open_tool: Open, embedder: WordEmbedder
    ) -> None:
        await self.order(open_tool, 0.0, 0.7, 0.3)
        assert (embedder.calls, embedder.queries) == ([], [])
        assert len(await self.order(open_tool, 1.0, 0.0, 0.0)) == 4

    async def test_the_score_is_the_weighted_sum_of_the_ranks(self, open_tool: Open) -> None:
        tool = await open_tool(semantic_weight=0.5, keyword_weight=0.3, exact_weight=0.2, rrf_k=60)
        other = await open_tool(semantic_weight=0.2, keyword_weight=0.6, exact_weight=0.2, rrf_k=1)
        query = "receipt is needed"
        one, two = await tool.search(query), await other.search(query)
        scores = {result.section_id: result.fused_score for result in one}
        # first in every ranking; second by meaning and by keyword, without a place in the third
        assert scores["refunds"] == pytest.approx(1.0)
        whole = (0.5 + 0.3 + 0.2) / 61
        assert scores["shipping"] == pytest.approx((0.5 + 0.3) / 62 / whole)
        assert {r.section_id: r.fused_score for r in two}["shipping"] == pytest.approx(
            (0.2 + 0.6) / 3 / (1.0 / 2)
        )

    @pytest.mark.parametrize(
        "weights", [(0.5, 0.3, 0.3), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (0.5, 0.2, 0.2)]
    )
    def test_weights_that_do_not_add_up_to_one_are_refused(
        self, tmp_path: Path, weights: tuple[float, float, float]
    ) -> None:
        names = ("semantic_weight", "keyword_weight", "exact_weight")
        with pytest.raises(ValidationError, match=r"must add up to 1\.0"):
            make(tmp_path, None, **dict(zip(names, weights, strict=True)))


class TestOtherSettings:
    async def test_top_k_and_min_score_bound_the_results(self, open_tool: Open) -> None:
        query = "money comes back in 30 days. a receipt is needed"
        assert len(await (await open_tool()).search(query)) == 4
        assert len(await (await open_tool(top_k=2)).search(query)) == 2
        strict = await (await open_tool(min_score=0.6, top_k=9)).search(query)
        assert [result.section_id for result in strict] == ["refunds"]

    async def test_chunks_by_token_know_no_headings(self, open_tool: Open) -> None:
        (result,) = await (await open_tool(chunking_strategy="token")).search("gift cards")
        assert result.parent_chain == []
        assert result.content.startswith("# Handbook")

    async def test_max_chunk_tokens_and_overlap_cut(self, tmp_path: Path, open_tool: Open) -> None:
        sentences = " ".join(f"Sentence number {n} says a few words." for n in range(60))
        (tmp_path / "docs" / "long.md").write_text(f"# Long\n\n{sentences}")
        counts = {}
        for tokens, overlap in ((100, 0), (100, 50), (400, 0)):
            tool = await open_tool(max_chunk_tokens=tokens, chunk_overlap=overlap)
            assert tool.report is not None
            counts[tokens, overlap] = tool.report.chunks
        assert counts[100, 50] > counts[100, 0] > counts[400, 0]

    def test_an_overlap_as_large_as_a_chunk_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ValidationError, match="must be smaller than"):
            make(tmp_path, None, max_chunk_tokens=100, chunk_overlap=150)


class TestStructure:
    LAW = """\
# Act

## Definitions

"Vendor" means whoever sells goods.

"Buyer" means whoever pays.

## Duties

§ 1 Delivery
The vendor must deliver within 10 days, see § 2(b).
§ 2 Payment
(a) The buyer pays in advance.
(b) Cash is taken.
"""

    async def found(
        self, tmp_path: Path, open_tool: Open, query: str, **settings: Any
    ) -> dict[str, Any]:
        (tmp_path / "docs" / "handbook.md").write_text(self.LAW)
        tool = await open_tool(search_mode="keyword", **settings)
        return {result.section_id: result for result in await tool.search(query)}

    async def test_numbered_parts_are_sections_where_the_domain_is_named(
        self, tmp_path: Path, open_tool: Open
    ) -> None:
        found = await self.found(tmp_path, open_tool, "cash", document_domain="us_legislative")
        assert list(found) == ["§ 2(b)"]
        assert found["§ 2(b)"].parent_chain == ["Act", "Duties", "§ 2 Payment", "(b) Cash is taken"]
        assert list(await self.found(tmp_path, open_tool, "cash")) == ["duties"]

    async def test_the_depth_of_numbered_parts_is_bounded(
        self, tmp_path: Path, open_tool: Open
    ) -> None:
        found = await self.found(
            tmp_path, open_tool, "cash", document_domain="us_legislative", max_subsection_depth=5
        )
        assert list(found) == ["§ 2"]

    async def test_terms_and_references_come_with_their_texts(
        self, tmp_path: Path, open_tool: Open
    ) -> None:
        found = await self.found(tmp_path, open_tool, "deliver", document_domain="us_legislative")
        assert (
            found["§ 1"]
            .format()
            .endswith(
                "\n\nRelevant definitions:\n"
                "  - Vendor: whoever sells goods.\n"
                "  - § 2(b): (b) Cash is taken."
            )
        )

    async def test_neither_comes_where_it_is_switched_off(
        self, tmp_path: Path, open_tool: Open
    ) -> None:
        law = {"document_domain": "us_legislative"}
        for switch, left in (("definitions", ["§ 2(b)"]), ("cross_references", ["Vendor"])):
            found = await self.found(
                tmp_path, open_tool, "deliver", **law, **{f"extract_{switch}": False}
            )
            assert [term for term, _ in found["§ 1"].definitions_context] == left

    async def test_a_passage_says_what_it_is_and_what_is_below_it(
        self, tmp_path: Path, open_tool: Open
    ) -> None:
        law = {"document_domain": "us_legislative", "top_k": 100}
        found = await self.found(
            tmp_path, open_tool, "vendor deliver payment buyer cash act", **law
        )
        kinds = {section: result.chunk_type for section, result in found.items()}
        assert kinds["definitions"] == "definition"
        assert kinds["§ 1"] == "requirement"
        assert kinds["§ 2(b)"] == "content"
        assert found["§ 2"].subsection_ids == ["§ 2(a)", "§ 2(b)"]
