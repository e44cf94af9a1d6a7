"""Embedding calls that fail: the file is named, found by keyword, and tried again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from holodeck_backend_claude.retrieval import EmbeddingError, Skipped

from .lab import Floats, Lab, WordEmbedder


def refuse(word: str, error: Exception) -> object:
    def check(texts: Sequence[str]) -> None:
        if any(word in text for text in texts):
            raise error

    return check


@pytest.fixture
def many(lab: Lab) -> Lab:
    """A hundred good documents and a poisoned one."""
    for number in range(100):
        lab.write(f"good-{number:03}.txt", f"Good text number {number}.")
    lab.write("bad.txt", "This poison is refused.")
    return lab


@pytest.mark.parametrize(
    "error", [EmbeddingError("too long", rejected_input=True), RuntimeError("too long")]
)
async def test_a_refused_text_harms_no_other(
    error: Exception, many: Lab, embedder: WordEmbedder
) -> None:
    embedder.before = refuse("poison", error)  # type: ignore[assignment]
    report = await many.update(embedder)
    assert (report.chunks, report.embedded) == (101, 100)
    assert report.not_embedded == (Skipped("bad.txt", "embedding failed: too long"),)


async def test_a_file_whose_embedding_failed_is_found_by_keyword(
    many: Lab, embedder: WordEmbedder
) -> None:
    embedder.before = refuse("poison", RuntimeError("no"))  # type: ignore[assignment]
    await many.update(embedder)
    embedder.before = lambda _texts: None
    results = await many.search("refused", embedder)
    assert {result.source_path: result.semantic_score for result in results}["bad.txt"] is None


async def test_no_vector_is_made_up(many: Lab, embedder: WordEmbedder) -> None:
    embedder.before = refuse("poison", RuntimeError("no"))  # type: ignore[assignment]
    await many.update(embedder)
    assert many.rows("SELECT count(*) FROM vectors") == [(100,)]


async def test_a_failed_text_is_tried_again_at_the_next_start(
    many: Lab, embedder: WordEmbedder
) -> None:
    embedder.before = refuse("poison", RuntimeError("no"))  # type: ignore[assignment]
    await many.update(embedder)
    embedder.before = lambda _texts: None
    embedder.calls.clear()
    report = await many.update(embedder)
    assert embedder.texts == ["This poison is refused."]
    assert (report.embedded, report.not_embedded) == (101, ())


async def test_a_provider_that_is_down_is_not_asked_again_and_again(
    many: Lab, embedder: WordEmbedder
) -> None:
    embedder.before = refuse("", EmbeddingError("service is down"))  # type: ignore[assignment]
    report = await many.update(embedder)
    assert len(embedder.calls) <= 2
    assert (report.files, report.chunks, report.embedded) == (101, 101, 0)
    assert len(report.not_embedded) == 101
    assert {file.cause for file in report.not_embedded} == {"embedding failed: service is down"}
    assert report.mode == "keyword"
    assert await many.sources("refused", None) == ["bad.txt"]


async def test_an_embedder_that_always_raises_is_given_up(
    many: Lab, embedder: WordEmbedder
) -> None:
    embedder.before = refuse("", ZeroDivisionError())  # type: ignore[assignment]
    report = await many.update(embedder)
    assert len(embedder.calls) < 30
    assert report.embedded == 0
    assert {file.cause for file in report.not_embedded} == {"embedding failed: ZeroDivisionError"}


async def test_what_was_embedded_before_a_failure_is_kept(lab: Lab, embedder: WordEmbedder) -> None:
    lab.write("a.txt", "One.")
    await lab.update(embedder)
    lab.write("b.txt", "Two.")
    embedder.before = refuse("", EmbeddingError("down"))  # type: ignore[assignment]
    report = await lab.update(embedder)
    assert (report.embedded, report.mode) == (1, "hybrid")
    assert [file.path for file in report.not_embedded] == ["b.txt"]


@pytest.mark.parametrize(
    ("vector", "cause"),
    [
        (np.zeros(64, np.float32), "all zeros"),
        (np.full(64, np.nan, np.float32), "NaN or infinity"),
        (np.full(64, np.inf, np.float32), "NaN or infinity"),
        (np.ones(63, np.float32), "63 numbers instead of 64"),
    ],
    ids=["zeros", "nan", "infinite", "short"],
)
async def test_a_vector_that_is_none_is_refused_and_the_others_kept(
    vector: Floats, cause: str, lab: Lab
) -> None:
    class Sloppy(WordEmbedder):
        async def embed_documents(self, texts: Sequence[str]) -> Floats:
            return [vector if "poison" in text else self.vector(text) for text in texts]  # type: ignore[return-value]  # of different lengths

    lab.write("good.txt", "Good.")
    lab.write("bad.txt", "poison")
    embedder = Sloppy()
    report = await lab.update(embedder)
    assert report.embedded == 1
    ((path, told),) = [(file.path, file.cause) for file in report.not_embedded]
    assert path == "bad.txt"
    assert cause in told
    (best, *_) = await lab.search("good", embedder)
    assert best.source_path == "good.txt"


async def test_too_few_vectors_are_not_taken_for_the_wrong_texts(lab: Lab) -> None:
    class Short(WordEmbedder):
        async def embed_documents(self, texts: Sequence[str]) -> Floats:
            return (await super().embed_documents(texts))[:-1]

    lab.write("a.txt", "One.")
    lab.write("b.txt", "Two.")
    report = await lab.update(Short())
    assert report.embedded == 0
    assert "1 embeddings came for 2 texts" in report.not_embedded[0].cause


async def test_calls_have_a_bounded_number_of_texts(many: Lab, embedder: WordEmbedder) -> None:
    await many.update(embedder)
    assert sorted(len(call) for call in embedder.calls) == [101 - 64, 64]


async def test_a_provider_whose_vectors_changed_their_length_is_an_error_that_says_so(
    lab: Lab,
) -> None:
    lab.write("a.txt", "One.")
    first = WordEmbedder(dimensions=64)
    first.dimensions = None
    await lab.update(first)
    second = WordEmbedder(dimensions=32)
    second.dimensions = None
    lab.write("b.txt", "Two.")
    report = await lab.update(second)
    assert "32 numbers instead of 64" in report.not_embedded[0].cause
    with pytest.raises(EmbeddingError, match="the provider's model has changed; delete"):
        await lab.search("one", second)
