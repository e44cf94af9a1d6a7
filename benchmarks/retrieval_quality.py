"""Search quality on public test collections: nDCG@10 by keyword, by meaning, and by both.

    python benchmarks/retrieval_quality.py [--whole] [--sweep] [--data FOLDER]

Each document is indexed as a .txt file, cut as agents get it by default (``--whole``: as one
chunk), and counts with its best passage. The collections are not part of this project: the folder
``cranfield`` and ``cisi`` with ``corpus.jsonl``, ``queries.jsonl`` and ``qrels.tsv`` are looked for
in ``../shared/data``; one that is absent is left out, and said so.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from holodeck_backend_claude.config import HierarchicalDocumentToolConfig, VectorstoreTool
from holodeck_backend_claude.contract import Embedder
from holodeck_backend_claude.retrieval import (
    ChunkSettings,
    Database,
    Index,
    Searcher,
    make_embedder,
)
from holodeck_backend_claude.retrieval.embedding.embeddings import Vector
from holodeck_backend_claude.retrieval.indexing import store
from holodeck_backend_claude.retrieval.indexing.vectorize import identity
from holodeck_backend_claude.retrieval.ranking.fusion import fuse
from holodeck_backend_claude.retrieval.ranking.keywords import match_expression
from holodeck_backend_claude.retrieval.ranking.matrix import MatrixCache
from holodeck_backend_claude.retrieval.ranking.settings import MEASURED, RRF_K, RankingSettings

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
TARGETS = {"cranfield": (0.515, 0.55), "cisi": (0.38, 0.44)}  # keyword, hybrid
DEPTH = 100
WHOLE = ChunkSettings(8_192, 0)
AS_AGENTS_GET_IT = ChunkSettings(
    VectorstoreTool.model_fields["chunk_size"].default,
    VectorstoreTool.model_fields["chunk_overlap"].default,
)
_FIELDS = HierarchicalDocumentToolConfig.model_fields
PUBLISHED = RankingSettings(
    semantic_weight=_FIELDS["semantic_weight"].default,
    keyword_weight=_FIELDS["keyword_weight"].default,
    exact_weight=_FIELDS["exact_weight"].default,
    rrf_k=_FIELDS["rrf_k"].default,
)


@dataclass(frozen=True)
class Collection:
    """Documents, queries that have judgements, and the relevant documents of each."""

    name: str
    documents: dict[str, str]
    queries: dict[str, str]
    relevant: dict[str, set[str]]

    @classmethod
    def read(cls, folder: Path) -> Collection:
        """Read a collection from its folder."""
        relevant: dict[str, set[str]] = {}
        for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
            query, document, _grade = line.split("\t")
            relevant.setdefault(query, set()).add(document)
        queries = _texts(folder / "queries.jsonl")
        judged = {number: text for number, text in queries.items() if number in relevant}
        return cls(folder.name, _texts(folder / "corpus.jsonl"), judged, relevant)

    def ndcg(self, rankings: dict[str, list[str]]) -> float:
        """Binary nDCG@10 over all queries; a document counts at its first place."""
        return sum(
            _ndcg(list(dict.fromkeys(ranked))[:10], self.relevant[query])
            for query, ranked in rankings.items()
        ) / len(rankings)


def _texts(file: Path) -> dict[str, str]:
    rows = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    return {str(row["id"]): row["text"] for row in rows}


def _ndcg(ranked: Sequence[str], relevant: set[str]) -> float:
    gained = sum(1 / math.log2(n + 2) for n, name in enumerate(ranked) if name in relevant)
    return gained / sum(1 / math.log2(n + 2) for n in range(min(10, len(relevant))))


@dataclass(frozen=True)
class Legs:
    """For one query, the passages by keyword and by meaning, and the document of each."""

    keyword: list[int]
    dense: list[int]
    documents: dict[int, str]

    def ranked(self, passages: Iterable[int]) -> list[str]:
        """The documents of passages, in their order."""
        return [self.documents[passage] for passage in passages]

    def hybrid(self, k: float) -> list[str]:
        """The documents of the fused ranking."""
        return self.ranked(fuse([(1.0, self.dense), (1.0, self.keyword)], k=k))


async def index(collection: Collection, settings: ChunkSettings, folder: Path) -> Index:
    """The collection as an index, made the way an agent's is."""
    documents = folder / "documents"
    documents.mkdir()
    for name, text in collection.documents.items():
        if text.strip():
            (documents / f"{name}.txt").write_text(text, encoding="utf-8")
    made = Index(
        Database(folder / "index" / "index.db"),
        source=str(documents),
        base_dir=folder,
        settings=settings,
        embedder=make_embedder(None, {}),
        progress=_show,
    )
    report = await made.update()
    print(f"\r{collection.name}: {report.files} documents, {report.chunks} passages, "
          f"{report.embedded} with vectors, {len(collection.queries)} queries")  # fmt: skip
    return made


def _show(label: str, done: int, total: int) -> None:
    if done == total or not done % 64:
        print(f"\r{label} {done}/{total}   ", end="", flush=True)


async def legs(collection: Collection, made: Index) -> dict[str, Legs]:
    """Both rankings for each query."""
    embedder = made.embedder
    matrices = MatrixCache(identity(embedder)) if embedder else None
    found: dict[str, Legs] = {}
    for number, text in collection.queries.items():
        vector = await _vector(embedder, text)
        with made.database.reading() as db:
            keyword = [c for c, _ in store.keyword_matches(db, match_expression(text), DEPTH)]
            near = matrices.current(db).nearest(vector, DEPTH) if matrices else []
            dense = [chunk for chunk, _ in near]
            chunks = store.chunks(db, [*keyword, *dense])
        documents = {chunk: row.path.removesuffix(".txt") for chunk, row in chunks.items()}
        found[number] = Legs(keyword, dense, documents)
    return found


async def _vector(embedder: Embedder | None, text: str) -> Vector:
    return await embedder.embed_query(text) if embedder else np.zeros(0, np.float32)


async def through_search(
    collection: Collection, made: Index, ranking: RankingSettings = MEASURED
) -> dict[str, list[str]]:
    """What an agent's search gives: the check that the numbers above are those of the product."""
    searcher = Searcher(made.database, made.embedder, ranking)
    return {
        number: [
            result.source_path.removesuffix(".txt")
            for result in await searcher.search(text, limit=DEPTH)
        ]
        for number, text in collection.queries.items()
    }


async def measure(collection: Collection, settings: ChunkSettings, *, sweep: bool) -> bool:
    """Print the numbers of one collection; True if they reach their targets."""
    with tempfile.TemporaryDirectory() as folder:
        made = await index(collection, settings, Path(folder))
        try:
            found = await legs(collection, made)
            searched = await through_search(collection, made)
            published = await through_search(collection, made, PUBLISHED)
        finally:
            made.database.close()
    keyword = collection.ndcg({q: leg.ranked(leg.keyword) for q, leg in found.items()})
    print(f"  keyword  {keyword:.4f}")
    if made.embedder is None:
        print("  dense    left out: the local model is not installed")
        return keyword >= TARGETS[collection.name][0]
    dense = collection.ndcg({q: leg.ranked(leg.dense) for q, leg in found.items()})
    hybrid = collection.ndcg(searched)
    print(f"  dense    {dense:.4f}\n  hybrid   {hybrid:.4f}   (k = {RRF_K:g})")
    print(f"  hybrid   {collection.ndcg(published):.4f}   (the weights of hierarchical_document)")
    for k in (5, 10, 20, 40, 60, 100) if sweep else ():
        fused = collection.ndcg({q: leg.hybrid(k) for q, leg in found.items()})
        print(f"    k = {k:<4} {fused:.4f}")
    least_keyword, least_hybrid = TARGETS[collection.name]
    return keyword >= least_keyword and hybrid >= max(least_hybrid, keyword, dense)


async def main() -> int:
    """Measure every collection that is there."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--whole", action="store_true", help="each document as one chunk")
    parser.add_argument("--sweep", action="store_true", help="try several k for the fusion")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the collections")
    options = parser.parse_args()
    settings = WHOLE if options.whole else AS_AGENTS_GET_IT
    print(f"nDCG@10; chunks of {settings.size} tokens, overlap {settings.overlap}")
    good = True
    for name in TARGETS:
        if (options.data / name / "corpus.jsonl").is_file():
            good &= await measure(
                Collection.read(options.data / name), settings, sweep=options.sweep
            )
        else:
            print(f"{name}: left out, there is no {options.data / name}")
    print("targets reached" if good else "targets missed")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
