"""Reranking: what a cross-encoder says, and what a search makes of it."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from holodeck_backend_claude.contract import ConfigError
from holodeck_backend_claude.retrieval import Searcher, SearchResult
from holodeck_backend_claude.retrieval.ranking import reranking
from holodeck_backend_claude.retrieval.ranking.cross_encoder import CrossEncoder
from tests.support.cross_encoders import write_cross_encoder

from .lab import Lab, WordEmbedder


def sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


class TestCrossEncoder:
    pytest.importorskip("onnxruntime", reason="the extra [rerank] is not installed")
    pytest.importorskip("tokenizers", reason="the extra [rerank] is not installed")

    async def test_the_score_is_the_sigmoid_of_the_logit(self, tmp_path: Path) -> None:
        write_cross_encoder(tmp_path, {"refund": 2.0, "never": -3.0, "money": 1.0})
        passages = ["refund", "never refund", "money money refund", "nothing", ""]
        scores = await CrossEncoder(tmp_path).scores("refund", passages)
        assert scores == pytest.approx([sigmoid(x) for x in (2, -1, 4, 0, 0)], abs=1e-6)

    async def test_many_passages_of_any_length_have_the_scores_they_have_alone(
        self, tmp_path: Path
    ) -> None:
        write_cross_encoder(tmp_path, {"a": 0.1, "b": -0.1})
        passages = ["a " * number + "b" * (number % 2) for number in range(40)]
        encoder = CrossEncoder(tmp_path)
        alone = [(await encoder.scores("a", [passage]))[0] for passage in passages]
        assert await encoder.scores("a", passages) == pytest.approx(alone, abs=1e-6)

    async def test_of_two_logits_the_second_stands_for_relevant(self, tmp_path: Path) -> None:
        write_cross_encoder(tmp_path, {"yes": [0.5, 2.0], "no": [1.0, -1.0]})
        scores = await CrossEncoder(tmp_path).scores("x", ["yes", "no", "yes no"])
        assert scores == pytest.approx([sigmoid(x) for x in (1.5, -2.0, -0.5)], abs=1e-6)

    async def test_a_model_of_more_numbers_is_none(self, tmp_path: Path) -> None:
        write_cross_encoder(tmp_path, {"a": [1.0, 2.0, 3.0]})
        with pytest.raises(ValueError, match="gives 3 numbers for a pair"):
            await CrossEncoder(tmp_path).scores("a", ["a"])

    async def test_only_what_the_model_asks_for_is_given(self, tmp_path: Path) -> None:
        write_cross_encoder(
            tmp_path, {"a": 1.0}, inputs=("input_ids", "attention_mask"), file="onnx/model.onnx"
        )
        assert await CrossEncoder(tmp_path).scores("a", ["a"]) == pytest.approx([sigmoid(2)])

    async def test_a_long_passage_is_cut_where_the_model_ends(self, tmp_path: Path) -> None:
        write_cross_encoder(tmp_path, {"a": 0.01}, most_tokens=20)
        short, long = await CrossEncoder(tmp_path).scores("a", ["a " * 16, "a " * 5_000])
        assert short == pytest.approx(long)
        (long,) = await CrossEncoder(tmp_path).scores("a " * 5_000, ["a " * 5_000])
        assert 0.5 < long < sigmoid(0.2)

    async def test_it_runs_off_the_event_loop(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_cross_encoder(tmp_path, {"a": 1.0})
        threads: list[threading.Thread] = []
        encoder = CrossEncoder(tmp_path)
        real = encoder._run

        def noting(pairs: list[object]) -> object:
            threads.append(threading.current_thread())
            return real(pairs)

        monkeypatch.setattr(encoder, "_run", noting)
        await encoder.scores("a", ["a"])
        assert threads
        assert threading.main_thread() not in threads

    def test_a_folder_without_a_model_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"needs model\.onnx .* and tokenizer\.json"):
            CrossEncoder(tmp_path)

    @pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json", "config.json"])
    def test_a_broken_file_is_refused_with_its_folder(self, file: str, tmp_path: Path) -> None:
        write_cross_encoder(tmp_path, {"a": 1.0})
        (tmp_path / file).write_text("{]")
        with pytest.raises(ConfigError, match="cannot be loaded"):
            CrossEncoder(tmp_path)

    def test_a_model_that_asks_for_something_else_is_refused(self, tmp_path: Path) -> None:
        write_cross_encoder(tmp_path, {"a": 1.0}, inputs=("input_ids", "pixel_values"))
        with pytest.raises(ConfigError, match=r"asks for pixel_values, and a cross-encoder for"):
            CrossEncoder(tmp_path)


class Reranker:
    """Prefers what has more of a letter; keeps what it was asked."""

    def __init__(self, letter: str = "z") -> None:
        self.letter = letter
        self.asked: list[tuple[str, list[str]]] = []

    async def scores(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        self.asked.append((query, list(passages)))
        return [min(1.0, passage.count(self.letter) / 10) for passage in passages]


@pytest.fixture
async def notes(lab: Lab, embedder: WordEmbedder) -> Lab:
    """Four notes about gardens."""
    for number, letters in enumerate(["", "z", "zzz", "zz"]):
        lab.write(f"{number}.txt", f"A note about gardens. {letters}")
    await lab.update(embedder)
    return lab


async def search(
    lab: Lab, embedder: WordEmbedder, reranker: object, *, limit: int = 10
) -> list[SearchResult]:
    searcher = Searcher(lab.database, embedder, reranker=reranker)  # type: ignore[arg-type]
    return await searcher.search("note about gardens", limit=limit)


class TestSearch:
    async def test_results_stand_in_the_order_of_the_reranker_with_its_scores(
        self, notes: Lab, embedder: WordEmbedder
    ) -> None:
        found = await search(notes, embedder, Reranker(), limit=3)
        assert [(r.source_path, r.fused_score) for r in found] == [
            ("2.txt", 0.3),
            ("3.txt", 0.2),
            ("1.txt", 0.1),
        ]
        assert found[0].semantic_score is not None
        assert found[0].keyword_score is not None

    async def test_it_reads_the_query_and_the_best_passages_a_bounded_number(
        self, lab: Lab, embedder: WordEmbedder
    ) -> None:
        for number in range(70):
            lab.write(f"{number:02}.txt", f"A note about gardens, number {number}.")
        await lab.update(embedder)
        reranker = Reranker()
        await search(lab, embedder, reranker, limit=3)
        ((query, passages),) = reranker.asked
        assert query == "note about gardens"
        assert len(passages) == reranking.CANDIDATES == 50
        await search(lab, embedder, reranker, limit=60)
        assert len(reranker.asked[1][1]) == 60

    async def test_what_fits_alike_stays_in_the_order_of_the_search(
        self, notes: Lab, embedder: WordEmbedder
    ) -> None:
        before = [r.source_path for r in await search(notes, embedder, None)]
        after = [r.source_path for r in await search(notes, embedder, Reranker("?"))]
        assert after == before

    async def test_where_nothing_is_found_it_is_not_asked(
        self, notes: Lab, embedder: WordEmbedder
    ) -> None:
        reranker = Reranker()
        searcher = Searcher(notes.database, None, reranker=reranker)
        assert await searcher.search("xylophone", limit=3) == []
        assert reranker.asked == []

    @pytest.mark.parametrize(
        ("answer", "why"),
        [
            (RuntimeError("no luck"), "RuntimeError: no luck"),
            ([0.5], "1 scores came for 4 passages"),
            ([0.1, 0.2, 0.3, float("nan")], "a score is nan"),
            ([0.1, 0.2, 0.3, 7.0], "a score is 7, which is not from 0.0 to 1.0"),
            (None, "TypeError"),
            (["a", "b", "c", "d"], "ValueError"),
            ("slow", "it took longer than 0.05 s"),
        ],
    )
    async def test_a_reranker_that_fails_leaves_the_order_with_a_warning(
        self,
        answer: object,
        why: str,
        notes: Lab,
        embedder: WordEmbedder,
        caplog: pytest.LogCaptureFixture,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(reranking, "SECONDS", 0.05)

        class Failing:
            async def scores(self, _query: str, _passages: Sequence[str]) -> object:
                if isinstance(answer, Exception):
                    raise answer
                if answer == "slow":
                    await asyncio.sleep(60)
                return answer

        before = await search(notes, embedder, None)
        with caplog.at_level(logging.WARNING):
            assert await search(notes, embedder, Failing()) == before
        assert "this search is not reranked: " in caplog.text
        assert why in caplog.text
