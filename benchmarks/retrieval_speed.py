"""Speed of the index, each number beside its baseline in the same run.

    python benchmarks/retrieval_speed.py [--passages 50000]

The vectors are random, so no model is needed and none is measured.

* dense: the vector search of the product beside numpy's own matrix product and argpartition, and
  beside Semantic Kernel's in-memory collection with the same vectors.
* hybrid: keyword and vector search with fusion and the texts of the results, beside dense.
* second start: an index brought up to date over an unchanged folder, beside a walk over the same
  files that only reads and hashes them.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import random
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from holodeck_backend_claude.retrieval import ChunkSettings, Database, Index, Searcher
from holodeck_backend_claude.retrieval.embedding.embeddings import Vector
from holodeck_backend_claude.retrieval.indexing.vectorize import identity
from holodeck_backend_claude.retrieval.ranking.matrix import MatrixCache

DIMENSIONS = 384
TOP = 10
WORDS_PER_PASSAGE = 60
PASSAGES_PER_FILE = 12
SETTINGS = ChunkSettings(200, 0)


class RandomEmbedder:
    """Random unit vectors; counts its calls."""

    fingerprint = "random"
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        self.calls = 0
        self._random = np.random.default_rng(7)

    async def embed_documents(self, texts: Sequence[str]) -> Vector:
        """A vector for each text, whatever it says."""
        self.calls += 1
        return self._random.standard_normal((len(texts), DIMENSIONS), np.float32)

    async def embed_query(self, text: str) -> Vector:
        """A vector, whatever the text says."""
        del text
        return self._random.standard_normal(DIMENSIONS, np.float32)

    async def close(self) -> None:
        """Nothing is open."""


def write_documents(folder: Path, passages: int) -> None:
    """Markdown files of a dozen sections, with words as frequent as in a natural text."""
    rng = random.Random(7)
    vocabulary = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in _ENDINGS]
    weights = [1 / (rank + 3) for rank in range(len(vocabulary))]
    for number in range(0, passages, PASSAGES_PER_FILE):
        sections = [
            f"## Section {n}\n\n" + " ".join(rng.choices(vocabulary, weights, k=WORDS_PER_PASSAGE))
            for n in range(min(PASSAGES_PER_FILE, passages - number))
        ]
        path = folder / f"{number // 1_000:03}" / f"{number:06}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n\n".join(sections), encoding="utf-8")


_ENDINGS = [f"{a}{b}{c}" for a in "rlnmst" for b in "aeiou" for c in ("n", "r", "s", "la", "to")]


def walk_and_hash(folder: Path) -> int:
    """The least that anything must do which goes by the content of files."""
    count = 0
    for root, _folders, names in os.walk(folder):
        for name in names:
            hashlib.sha256((Path(root) / name).read_bytes()).digest()
            count += 1
    return count


def p50_ms(run: Callable[[], object], times: int = 200) -> float:
    """The median time of a call, in milliseconds."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1e3


def numpy_search(rows: Vector, query: Vector) -> object:
    """The baseline of dense search: no ids, no order, no index."""
    return np.argpartition(rows @ query, -TOP)[-TOP:]


def show(what: str, ours: float, baseline: float, against: str) -> None:
    """One line of the report."""
    print(f"{what:<13}{ours:9.2f} ms   {against} {baseline:9.2f} ms   ratio {ours / baseline:5.2f}")


def measure_searches(made: Index, embedder: RandomEmbedder) -> None:
    """Dense beside numpy, hybrid beside dense."""
    query = asyncio.run(embedder.embed_query(""))
    query /= np.linalg.norm(query)
    cache = MatrixCache(identity(embedder))

    def dense() -> object:
        with made.database.reading() as db:
            return cache.current(db).nearest(query, TOP)

    with made.database.reading() as db:
        rows = cache.current(db).rows
    ours, baseline = p50_ms(dense), p50_ms(lambda: numpy_search(rows, query))
    show("dense", ours, baseline, "numpy itself")
    asyncio.run(measure_semantic_kernel(rows, query, ours))
    asyncio.run(measure_hybrid(made, embedder, ours))


async def measure_semantic_kernel(rows: Vector, query: Vector, dense: float) -> None:
    """Semantic Kernel's in-memory collection, on the same vectors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on import, about its own dependencies
        from semantic_kernel.connectors.in_memory import InMemoryCollection
        from semantic_kernel.data.vector import VectorStoreCollectionDefinition, VectorStoreField
    definition = VectorStoreCollectionDefinition(
        fields=[
            VectorStoreField("key", name="id", type="int"),
            VectorStoreField("vector", name="vector", type="float", dimensions=DIMENSIONS),
        ]
    )
    collection: InMemoryCollection[int, dict[str, Any]] = InMemoryCollection(
        record_type=dict, definition=definition, collection_name="passages"
    )
    await collection.ensure_collection_exists()
    await collection.upsert(
        [{"id": number, "vector": row.tolist()} for number, row in enumerate(rows)]
    )
    asked = query.tolist()
    taken = []
    for _ in range(5):
        start = time.perf_counter()
        found = await collection.search(vector=asked, vector_property_name="vector", top=TOP)
        _ = [result async for result in found.results]
        taken.append(time.perf_counter() - start)
    theirs = statistics.median(taken) * 1e3
    times = f"{theirs / dense:.0f} times"
    print(f"dense        {dense:9.2f} ms   Semantic Kernel {theirs:6.0f} ms   {times}")


async def measure_hybrid(made: Index, embedder: RandomEmbedder, dense: float) -> None:
    """The whole search, embedding of the query apart."""
    searcher = Searcher(made.database, embedder)
    rng = random.Random(8)
    taken = []
    for _ in range(50):
        words = " ".join(
            rng.choice("bdfgklmnprst") + rng.choice("aeiou") + rng.choice(_ENDINGS)
            for _ in range(11)
        )
        start = time.perf_counter()
        await searcher.search(words, limit=TOP)
        taken.append(time.perf_counter() - start)
    show("hybrid", statistics.median(taken) * 1e3, dense, "dense alone ")


async def build(folder: Path, cache: Path, embedder: RandomEmbedder) -> Index:
    """An index over a folder."""
    made = Index(
        Database(cache / "index.db"),
        source=str(folder),
        base_dir=folder,
        settings=SETTINGS,
        embedder=embedder,
        progress=lambda _label, _done, _total: None,
    )
    start = time.perf_counter()
    report = await made.update()
    seconds = time.perf_counter() - start
    print(
        f"{report.files} files, {report.chunks} passages indexed in {seconds:.1f} s "
        f"({report.chunks / seconds:,.0f} passages/s without a model)"
    )
    return made


async def second_start(made: Index, embedder: RandomEmbedder) -> float:
    """Milliseconds to bring an unchanged index up to date."""
    calls = embedder.calls
    start = time.perf_counter()
    report = await made.update()
    taken = (time.perf_counter() - start) * 1e3
    assert embedder.calls == calls
    assert not report.changed
    return taken


def measure_second_start(folder: Path, cache: Path) -> None:
    """10,000 passages, unchanged."""
    write_documents(folder, 10_000)
    embedder = RandomEmbedder()
    made = asyncio.run(build(folder, cache, embedder))
    baseline = p50_ms(lambda: walk_and_hash(folder), times=5)
    show("second start", asyncio.run(second_start(made, embedder)), baseline, "walk and hash")
    ours = statistics.median(asyncio.run(second_start(made, embedder)) for _ in range(5))
    show("later starts", ours, baseline, "walk and hash")
    made.database.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--passages", type=int, default=50_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        base = Path(temporary)
        for name in ("large", "small"):
            (base / name).mkdir()
        measure_second_start(base / "small", base / "small-index")
        write_documents(base / "large", options.passages)
        embedder = RandomEmbedder()
        made = asyncio.run(build(base / "large", base / "large-index", embedder))
        measure_searches(made, embedder)
        made.database.close()


if __name__ == "__main__":
    main()
