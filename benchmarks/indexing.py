"""Indexing beside the embedding model alone, on the same texts in the same run.

    python benchmarks/indexing.py [--documents 300]

Documents of Cranfield are indexed with the local model (`[local]`): found, read, cut, written,
embedded and stored. Beside it stands the model with the same passages in calls of the same size, by
turns.

Prints passages a second, the ratio of the times, that of the processor's times, which other work of
the machine changes less, and the bound that the project holds itself to; the exit code is 1 where
that is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from holodeck_backend_claude.concurrency.together import together
from holodeck_backend_claude.contract import Embedder
from holodeck_backend_claude.retrieval import ChunkSettings, Database, Index, make_embedder
from holodeck_backend_claude.retrieval.indexing.vectorize import CALLS_AT_ONCE, TEXTS_PER_CALL

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.retrieval_quality import DATA, Collection

BOUND = 1.10
ROUNDS = 3


class Clock:
    """The time since it was made, and that of the processor, in seconds."""

    def __init__(self) -> None:
        self._start = (time.perf_counter(), time.process_time())

    def read(self) -> tuple[float, float]:
        """Both times."""
        return time.perf_counter() - self._start[0], time.process_time() - self._start[1]


Times = tuple[float, float]


async def index(folder: Path, cache: Path, embedder: Embedder) -> tuple[Times, list[str]]:
    """The times to index a folder, and the texts that were embedded, the longest first."""
    database = Database(cache / "index.db")
    made = Index(
        database,
        source=str(folder),
        base_dir=folder,
        settings=ChunkSettings(200, 30),
        embedder=embedder,
        progress=lambda _label, _done, _total: None,
    )
    clock = Clock()
    await made.update()
    taken = clock.read()
    with database.reading() as db:
        rows = db.execute("SELECT content FROM chunks ORDER BY length(content) DESC").fetchall()
    database.close()
    return taken, [text for (text,) in rows]


async def model_alone(texts: list[str], embedder: Embedder) -> Times:
    """The times that the model takes for the same texts."""
    batches = [texts[at : at + TEXTS_PER_CALL] for at in range(0, len(texts), TEXTS_PER_CALL)]

    async def work() -> None:
        while batches:
            await embedder.embed_documents(batches.pop(0))

    clock = Clock()
    await together(work() for _ in range(CALLS_AT_ONCE))
    return clock.read()


async def measure(folder: Path, caches: Path) -> float:
    """The median ratio of the two."""
    embedder = make_embedder(None, {})
    assert embedder is not None, "install the extra [local]"
    await embedder.embed_documents(["The model is loaded before anything is measured."])
    ratios = []
    for number in range(ROUNDS):
        ours, texts = await index(folder, caches / str(number), embedder)
        alone = await model_alone(texts, embedder)
        ratios.append(ours[1] / alone[1])
        print(
            f"indexing {len(texts) / ours[0]:6.1f} passages/s   the model alone "
            f"{len(texts) / alone[0]:6.1f}   ratio {ours[0] / alone[0]:.2f}   "
            f"of the processor's time {ratios[-1]:.2f}"
        )
    await embedder.close()
    return statistics.median(ratios)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--documents", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "documents"
        folder.mkdir()
        collection = Collection.read(DATA / "cranfield")
        for name, text in list(collection.documents.items())[: options.documents]:
            (folder / f"{name}.txt").write_text(text or "empty", encoding="utf-8")
        ratio = asyncio.run(measure(folder, Path(temporary)))
    print(f"median ratio {ratio:.2f}   bound {BOUND:.2f}: {'ok' if ratio <= BOUND else 'missed'}")
    return 0 if ratio <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
