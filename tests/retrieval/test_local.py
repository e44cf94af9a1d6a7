"""The local embedding model: its numbers, its limits, and that it keeps out of the way."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest

from holodeck_backend_claude.contract import Embedder
from holodeck_backend_claude.retrieval import make_embedder

GOLDEN = {  # the first numbers of each vector
    "Refunds are accepted within 30 days of purchase.": [
        -0.0746, 0.0256, 0.0779, -0.0077, 0.0193, 0.0238, -0.0303, -0.0209,
    ],
    "The boundary layer separates at high angles of attack.": [
        -0.0464, 0.0647, 0.0305, 0.0034, 0.0494, -0.0334, 0.0267, -0.0015,
    ],
    "東京都の天気予報": [0.0969, 0.1072, 0.0746, 0.0085, -0.0338, 0.0479, 0.0611, -0.0182],
}  # fmt: skip


@pytest.fixture(scope="module")
def local() -> Embedder:
    pytest.importorskip("onnxruntime", reason="the extra [local] is not installed")
    embedder = make_embedder(None, {})
    assert embedder is not None
    return embedder


async def test_this_processor_gives_the_golden_vectors(local: Embedder) -> None:
    vectors = await local.embed_documents(list(GOLDEN))
    assert vectors[:, :8] == pytest.approx(np.array(list(GOLDEN.values())), abs=0.02)


async def test_vectors_have_the_shape_and_length_that_is_said(local: Embedder) -> None:
    vectors = await local.embed_documents(["one", "two words", "x" * 300])
    assert vectors.shape == (3, local.dimensions)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)


async def test_similar_texts_are_closer_than_others(local: Embedder) -> None:
    question = await local.embed_query("How do I get my money back?")
    refund, weather = await local.embed_documents(
        ["Refunds are paid within 30 days.", "Rain is expected in the north."]
    )
    assert question @ refund > question @ weather + 0.2


async def test_a_text_has_the_same_vector_alone_and_among_others(local: Embedder) -> None:
    texts = [f"Sentence {n} " + "of some length " * (n % 40) for n in range(90)]
    together = await local.embed_documents(texts)
    alone = await local.embed_documents([texts[37]])
    assert float(together[37] @ alone[0]) == pytest.approx(1.0, abs=1e-3)


async def test_a_query_has_the_vector_of_the_same_passage(local: Embedder) -> None:
    text = "refund policy"
    document = (await local.embed_documents([text]))[0]
    assert float(await local.embed_query(text) @ document) == pytest.approx(1.0, abs=1e-5)


async def test_the_end_of_a_long_passage_counts(local: Embedder) -> None:
    filler = "The weather was fine that day. " * 60
    plain, with_end = await local.embed_documents([filler, filler + "Refunds take 30 days. " * 60])
    query = await local.embed_query("refunds")
    assert query @ with_end > query @ plain + 0.1


@pytest.mark.parametrize("text", ["", " ", "\0", "🙂", "x" * 100_000, "字" * 10_000])
async def test_any_text_has_a_vector(local: Embedder, text: str) -> None:
    vector = await local.embed_query(text)
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-4)


async def test_the_event_loop_runs_on_meanwhile(local: Embedder) -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await local.embed_documents(["a text of a few words"] * 50)
    counting.cancel()
    assert turns > 50


async def test_its_threads_keep_no_program_from_ending(local: Embedder) -> None:
    before = set(threading.enumerate())
    await local.embed_documents(["text"])
    new = set(threading.enumerate()) - before
    assert all(thread.daemon for thread in new)
