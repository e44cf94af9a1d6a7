"""Search: what is found, in which order, with which scores, by which query."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Sequence

import numpy as np
import pytest

from holodeck_backend_claude.retrieval import EmbeddingError, Searcher
from holodeck_backend_claude.retrieval.indexing import vectors
from holodeck_backend_claude.retrieval.ranking import matrix

from .lab import Floats, Lab, WordEmbedder


@pytest.fixture
async def policies(lab: Lab, embedder: WordEmbedder) -> Lab:
    """Three short documents, indexed."""
    lab.write("refunds.md", "# Guide\n\n## Refunds\n\nRefunds are accepted within 30 days.")
    lab.write("shipping.md", "# Guide\n\n## Shipping\n\nParcels are sent all over the world.")
    lab.write("jobs.txt", "We are looking for a gardener.")
    await lab.update(embedder)
    return lab


class TestResults:
    async def test_a_result_knows_its_document_place_and_scores(
        self, policies: Lab, embedder: WordEmbedder
    ) -> None:
        best = (await policies.search("refunds accepted within 30 days", embedder))[0]
        assert best.source_path == "refunds.md"
        assert best.parent_chain == ["Guide", "Refunds"]
        assert best.section_id == "refunds"
        assert best.chunk_id == "refunds.md#0"
        assert best.content == "## Refunds\n\nRefunds are accepted within 30 days."
        assert best.fused_score == pytest.approx(1.0)
        assert best.keyword_score == 1.0
        assert best.semantic_score is not None
        assert 0.5 < best.semantic_score <= 1.0

    async def test_a_query_that_stands_in_the_passage_word_for_word_is_an_exact_match(
        self, policies: Lab, embedder: WordEmbedder
    ) -> None:
        results = await policies.search("Accepted WITHIN 30", embedder)
        assert {r.source_path: r.exact_match for r in results} == {
            "refunds.md": True,
            "shipping.md": False,
            "jobs.txt": False,
        }

    @pytest.mark.parametrize("with_vectors", [True, False])
    async def test_scores_are_between_zero_and_one_and_fall(
        self, with_vectors: bool, policies: Lab, embedder: WordEmbedder
    ) -> None:
        used = embedder if with_vectors else None
        for query in ("refunds", "parcels are sent", "we are the world", "zzz gardener"):
            scores = [r.fused_score for r in await policies.search(query, used)]
            assert scores
            assert scores == sorted(scores, reverse=True)
            assert all(0 < score <= 1 + 1e-9 for score in scores)

    async def test_the_identical_text_has_the_highest_similarity(
        self, policies: Lab, embedder: WordEmbedder
    ) -> None:
        results = await policies.search("We are looking for a gardener.", embedder)
        similarities = {r.source_path: r.semantic_score or 0 for r in results}
        assert max(similarities, key=similarities.__getitem__) == "jobs.txt"
        assert similarities["jobs.txt"] == pytest.approx(1.0, abs=2e-3)

    async def test_a_passage_is_found_by_the_heading_above_it(
        self, policies: Lab, embedder: WordEmbedder
    ) -> None:
        results = await policies.search("guide", None)
        assert {r.source_path for r in results} == {"refunds.md", "shipping.md"}

    async def test_no_more_than_the_limit_come(self, policies: Lab, embedder: WordEmbedder) -> None:
        assert len(await policies.search("are", embedder, limit=2)) == 2

    async def test_a_limit_beyond_the_usual_depth_is_reached(
        self, lab: Lab, embedder: WordEmbedder
    ) -> None:
        for number in range(300):
            lab.write(f"{number}.txt", f"Common word {number}.")
        await lab.update(embedder)
        for used in (embedder, None):
            assert len(await lab.search("common", used, limit=250)) == 250

    async def test_equal_passages_come_in_the_same_order_each_time(
        self, lab: Lab, embedder: WordEmbedder
    ) -> None:
        for number in range(20):
            lab.write(f"{number:02}.txt", "The same words.")
        await lab.update(embedder)
        first = await lab.sources("same words", embedder)
        assert first == await lab.sources("same words", embedder)


class TestMinSimilarity:
    async def test_it_is_compared_with_the_cosine(
        self, policies: Lab, embedder: WordEmbedder
    ) -> None:
        query = "refunds accepted"
        everything = await policies.search(query, embedder)
        cosines = sorted((r.semantic_score or 0 for r in everything), reverse=True)
        between = (cosines[0] + cosines[1]) / 2
        kept = await policies.search(query, embedder, min_similarity=between)
        assert [r.source_path for r in kept] == ["refunds.md"]
        assert await policies.search(query, embedder, min_similarity=0.999) == []
        assert len(await policies.search(query, embedder, min_similarity=0.0)) == len(everything)

    async def test_without_vectors_it_is_compared_with_the_relative_keyword_score(
        self, lab: Lab
    ) -> None:
        lab.write("both.txt", "Refund policy.")
        lab.write("one.txt", "A policy about dogs and cats and other animals of the house.")
        lab.write("none.txt", "Weather.")
        await lab.update()
        everything = await lab.search("refund policy", None)
        assert [r.source_path for r in everything] == ["both.txt", "one.txt"]
        assert everything[0].fused_score == 1.0
        kept = await lab.search("refund policy", None, min_similarity=0.95)
        assert [r.source_path for r in kept] == ["both.txt"]


class TestQueries:
    @pytest.mark.parametrize("with_vectors", [True, False])
    @pytest.mark.parametrize(
        "query",
        [
            '"', "' OR 1=1 --", "a AND (b OR", "NEAR(", "*", "col:x", "\0", "a\0b", "🙂", "\ud800",
            "refund" * 100_000, "x " * 500_000, "字" * 300_000, "{}[]()^~", "%s %d {0}", "\n\r\t",
        ],
        ids=lambda query: ascii(query[:12]),
    )  # fmt: skip
    async def test_any_query_is_safe(
        self, query: str, with_vectors: bool, policies: Lab, embedder: WordEmbedder
    ) -> None:
        await policies.search(query, embedder if with_vectors else None)

    @pytest.mark.parametrize("query", ["", " ", "\n\t", "\0"])
    async def test_an_empty_query_finds_nothing_and_costs_no_call(
        self, query: str, policies: Lab, embedder: WordEmbedder
    ) -> None:
        assert await policies.search(query, embedder) == []
        assert embedder.queries == []

    async def test_what_is_embedded_of_a_long_query_is_bounded(
        self, policies: Lab, embedder: WordEmbedder
    ) -> None:
        await policies.search("word " * 200_000, embedder)
        assert len(embedder.queries[0]) <= 8_000

    async def test_what_is_embedded_can_be_sent(
        self, policies: Lab, embedder: WordEmbedder
    ) -> None:
        await policies.search("refund \ud800 \0 policy", embedder)
        assert "\0" not in embedder.queries[0].encode().decode()


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("with_vectors", [True, False])
async def test_a_collection_of_one_or_two_passages_answers(
    count: int, with_vectors: bool, lab: Lab, embedder: WordEmbedder
) -> None:
    used = embedder if with_vectors else None
    for number in range(count):
        lab.write(f"{number}.txt", f"The refund policy {'of dogs' * number}.")
    await lab.update(used)
    results = await lab.search("what is the refund policy", used)
    assert len(results) == count
    assert results[0].source_path == "0.txt"
    assert results[0].fused_score == pytest.approx(1.0)


async def test_a_passage_whose_embedding_failed_ranks_by_meaning_where_it_ranks_by_keyword(
    lab: Lab, embedder: WordEmbedder
) -> None:
    for number in range(30):
        lab.write(f"{number:02}.txt", f"Notes about gardens, number {number}.")
    lab.write("wanted.txt", "Notes about gardens and gardens, poison.")

    def refuse(texts: Sequence[str]) -> None:
        if any("poison" in text for text in texts):
            raise EmbeddingError("refused", rejected_input=True)

    embedder.before = refuse
    await lab.update(embedder)
    embedder.before = lambda _texts: None
    best = (await lab.search("gardens poison", embedder, limit=1))[0]
    assert (best.source_path, best.semantic_score) == ("wanted.txt", None)
    assert best.fused_score == pytest.approx(1.0)


class TestKeywordOnly:
    async def test_a_query_that_cannot_be_embedded_is_answered_by_keyword_with_a_warning(
        self, policies: Lab, embedder: WordEmbedder, caplog: pytest.LogCaptureFixture
    ) -> None:
        def fail(_texts: Sequence[str]) -> None:
            raise EmbeddingError("service is down")

        embedder.before = fail
        with caplog.at_level(logging.WARNING):
            results = await policies.search("refunds", embedder)
        assert [r.source_path for r in results] == ["refunds.md"]
        assert "this search is by keyword only" in caplog.text
        assert "service is down" in caplog.text

    @pytest.mark.parametrize("value", [0.0, float("nan")])
    async def test_a_query_vector_that_is_none_is_not_used(
        self,
        value: float,
        policies: Lab,
        embedder: WordEmbedder,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(embedder, "vector", lambda _text: np.full(64, value, np.float32))
        results = await policies.search("refunds", embedder)
        assert [r.semantic_score for r in results] == [None]

    async def test_no_match_is_no_result(self, policies: Lab) -> None:
        assert await policies.search("xylophone", None) == []


class TestFollowingChanges:
    async def test_one_searcher_sees_changed_added_and_deleted_documents(
        self, policies: Lab, embedder: WordEmbedder
    ) -> None:
        searcher = Searcher(policies.database, embedder)

        async def found(query: str) -> list[str]:
            return [r.source_path for r in await searcher.search(query, limit=1)]

        assert await found("gardener") == ["jobs.txt"]
        policies.write("jobs.txt", "We need a carpenter.")
        policies.write("new.txt", "A gardener wrote this.")
        (policies.docs / "shipping.md").unlink()
        await policies.update(embedder)
        assert await found("gardener") == ["new.txt"]
        assert await found("carpenter") == ["jobs.txt"]
        results = await searcher.search("parcels world", limit=10)
        assert {r.source_path for r in results} == {"refunds.md", "jobs.txt", "new.txt"}
        assert all(r.semantic_score is not None for r in results)

    async def test_only_new_vectors_are_read_after_a_change(
        self, policies: Lab, embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        searcher = Searcher(policies.database, embedder)
        await searcher.search("gardener", limit=1)
        read: list[int] = []
        real = vectors.load

        def counting(db: sqlite3.Connection, fingerprint: str, chunk_ids: Sequence[int]) -> Floats:
            read.append(len(chunk_ids))
            return real(db, fingerprint, chunk_ids)

        monkeypatch.setattr(vectors, "load", counting)
        policies.write("new.txt", "A new document.")
        await policies.update(embedder)
        await searcher.search("gardener", limit=1)
        assert read == [1]

    async def test_an_index_that_was_built_anew_is_read_anew(
        self, policies: Lab, embedder: WordEmbedder
    ) -> None:
        searcher = Searcher(policies.database, embedder)
        await searcher.search("gardener", limit=1)
        policies.database.set_aside()
        policies.write("aaa.txt", "Something about a plumber.")
        await policies.update(embedder)
        (best,) = await searcher.search("plumber", limit=1)
        assert best.source_path == "aaa.txt"
        assert best.semantic_score == pytest.approx(0.5, abs=0.3)


class TestConcurrency:
    async def test_many_searches_at_once_give_what_each_gives_alone(
        self, policies: Lab, embedder: WordEmbedder
    ) -> None:
        queries = ["refunds", "parcels world", "gardener", "30 days", "looking for"] * 8
        searcher = Searcher(policies.database, embedder)
        alone = [[r.chunk_id for r in await searcher.search(q, limit=3)] for q in queries]
        at_once = await asyncio.gather(*(searcher.search(q, limit=3) for q in queries))
        assert [[r.chunk_id for r in results] for results in at_once] == alone

    async def test_the_search_runs_off_the_event_loop(
        self, policies: Lab, embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        threads: list[threading.Thread] = []
        real = matrix.Matrix.nearest

        def noting(self: matrix.Matrix, query: Floats, limit: int) -> list[tuple[int, float]]:
            threads.append(threading.current_thread())
            return real(self, query, limit)

        monkeypatch.setattr(matrix.Matrix, "nearest", noting)
        await policies.search("refunds", embedder)
        assert threads
        assert threading.main_thread() not in threads


async def test_dense_search_is_exact(lab: Lab) -> None:
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((500, 16)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    made = matrix.Matrix(("id", 1), np.arange(0, 1_000, 2, dtype=np.int64), rows)
    query = rows[123]
    expected = np.argsort(-(rows @ query))[:10] * 2
    assert [chunk for chunk, _ in made.nearest(query, 10)] == expected.tolist()
    assert made.cosines(query, [246, 247, 5_000]) == {246: pytest.approx(1.0, abs=1e-5)}
