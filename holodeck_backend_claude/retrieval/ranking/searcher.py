"""Search in an index: by meaning, by keyword and word for word, alone or fused by rank."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.concurrency.threads import in_thread
from holodeck_backend_claude.contract import Embedder, Reranker
from holodeck_backend_claude.retrieval.embedding.embeddings import unit_vector
from holodeck_backend_claude.retrieval.errors import EmbeddingError
from holodeck_backend_claude.retrieval.indexing import store
from holodeck_backend_claude.retrieval.indexing.database import Database
from holodeck_backend_claude.retrieval.indexing.remote import chunks_of
from holodeck_backend_claude.retrieval.indexing.vectorize import identity
from holodeck_backend_claude.retrieval.ranking.exact import exact_matches
from holodeck_backend_claude.retrieval.ranking.found import Match, in_order, results_of
from holodeck_backend_claude.retrieval.ranking.fusion import fuse_ranks, ranks_of
from holodeck_backend_claude.retrieval.ranking.keywords import MOST_QUERY_CHARS, match_expression
from holodeck_backend_claude.retrieval.ranking.matrix import Matrix, MatrixCache, matrix_of
from holodeck_backend_claude.retrieval.ranking.reranking import CANDIDATES, reranked
from holodeck_backend_claude.retrieval.ranking.settings import MEASURED, Leg, RankingSettings
from holodeck_backend_claude.retrieval.results import SearchResult
from holodeck_backend_claude.retrieval.stores import StoreError, VectorStore

log = logging.getLogger(__name__)

_DEPTH = 100
"""Passages of each ranking that are fused, unless more are asked for."""


@dataclass(frozen=True)
class _Query:
    """A query: its text, its vector where there is one, and the nearest texts of a store."""

    text: str
    vector: NDArray[np.float32] | None
    nearest: list[UUID] | None


class Searcher:
    """Searches one index.

    Args:
        database: The index.
        embedder: Who makes the vector of a query; None for keywords only.
        ranking: Which rankings are fused.
        store: Where the nearest vectors are found; None finds them in memory.
        reranker: Who ranks the best passages once more; None for nobody.
    """

    def __init__(
        self,
        database: Database,
        embedder: Embedder | None,
        ranking: RankingSettings = MEASURED,
        *,
        store: VectorStore | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        self._database = database
        self._weights = ranking.weights
        self._rrf_k = ranking.rrf_k
        self._embedder = embedder
        self._store = store
        self._reranker = reranker
        self._matrices = MatrixCache(identity(embedder)) if embedder else None

    async def search(
        self, query: str, *, limit: int, min_similarity: float | None = None
    ) -> list[SearchResult]:
        """The passages that fit a query best.

        ``fused_score`` of a result is the fused rank where several rankings found something; where
        only one did, its own score: the cosine, the keyword score relative to the best passage,
        or 1.0 for a passage that holds the query. A passage that has no vector, or none yet, ranks
        by meaning where it ranks by keyword: to count it as not found would put whatever has a
        vector before it. Where a reranker answered, it is the reranker's score.

        Args:
            query: Any text; what stands behind its first 8,000 characters does not count.
            limit: Results at most.
            min_similarity: Leave out passages whose cosine similarity to the query is lower; of
                one without a vector, whose relative keyword score is lower.

        Raises:
            RetrievalError: The index cannot be read.
        """
        cleaned = _clean(query)
        if not cleaned:
            return []
        vector = await self._vector(cleaned)
        nearest: list[UUID] | None = None
        if self._store is not None and vector is not None:
            nearest = await self._nearest(self._store, vector, max(_DEPTH, limit))
            vector = None if nearest is None else vector
        what = _Query(cleaned, vector, nearest)
        if self._reranker is None:
            return await in_thread(self._search, what, limit, min_similarity)
        most = max(CANDIDATES, limit)
        found = await in_thread(self._passages, what, most, min_similarity)
        scores = await reranked(self._reranker, cleaned, list(found.values()))
        matches = in_order(list(found), scores)[:limit]
        return await in_thread(self._results, matches, cleaned)

    async def _nearest(
        self, place: VectorStore, vector: NDArray[np.float32], depth: int
    ) -> list[UUID] | None:
        """The nearest texts of a store; None, and a warning, where it cannot be asked."""
        try:
            return await place.nearest(vector, depth)
        except StoreError as cause:
            log.warning("this search is by keyword only: %s", cause)
            return None

    async def _vector(self, query: str) -> NDArray[np.float32] | None:
        """The vector of a query; None, and a warning, where it cannot be made."""
        if self._embedder is None or "semantic" not in self._weights:
            return None
        try:
            return unit_vector(await self._embedder.embed_query(query), self._embedder.dimensions)
        except Exception as cause:  # noqa: BLE001  # a plugin's embedder may raise anything
            log.warning("this search is by keyword only: embedding the query failed: %s", cause)
            return None

    def _search(
        self, query: _Query, limit: int, min_similarity: float | None
    ) -> list[SearchResult]:
        with self._database.reading() as db:
            return results_of(db, self._best(db, query, limit, min_similarity), query.text)

    def _passages(
        self, query: _Query, limit: int, min_similarity: float | None
    ) -> dict[Match, str]:
        with self._database.reading() as db:
            matches = self._best(db, query, limit, min_similarity)
            chunks = store.chunks(db, [match.chunk_id for match in matches])
        return {match: chunks[match.chunk_id].content for match in matches}

    def _results(self, matches: list[Match], query: str) -> list[SearchResult]:
        with self._database.reading() as db:
            return results_of(db, matches, query)

    def _best(
        self, db: sqlite3.Connection, query: _Query, limit: int, min_similarity: float | None
    ) -> list[Match]:
        matches = self._matches(db, query, max(_DEPTH, limit))
        if min_similarity is not None:
            matches = [match for match in matches if match.similarity >= min_similarity]
        return matches[:limit]

    def _matches(self, db: sqlite3.Connection, query: _Query, depth: int) -> list[Match]:
        vector = query.vector
        keyword: dict[int, float] = {}
        if "keyword" in self._weights:
            keyword = _by_keyword(db, query.text, depth)
        exact = exact_matches(db, query.text, depth) if "exact" in self._weights else []
        matrix = self._matrix(db, query, [*keyword, *exact])
        nearest = dict(matrix.nearest(vector, depth)) if matrix and vector is not None else {}
        if self._weights.keys() == {"semantic"} and not nearest:
            keyword = _by_keyword(db, query.text, depth)
        legs: dict[Leg, dict[int, float]] = {
            "semantic": nearest,
            "keyword": keyword,
            "exact": dict.fromkeys(exact, 1.0),
        }
        cosines = dict(nearest)
        if matrix and vector is not None:
            others = {*keyword, *legs["exact"]}.difference(nearest)
            cosines |= matrix.cosines(vector, sorted(others))
        fused = self._fused({leg: found for leg, found in legs.items() if found}, cosines)
        matches = [
            Match(number, score, cosines.get(number), keyword.get(number), number in legs["exact"])
            for number, score in fused.items()
        ]
        return sorted(matches, key=lambda m: (-m.fused, -m.similarity, m.chunk_id))

    def _fused(
        self, legs: Mapping[Leg, Mapping[int, float]], cosines: Mapping[int, float]
    ) -> Mapping[int, float]:
        """The score of everything found; a leg that found nothing has no part in it."""
        if len(legs) == 1:
            [scores] = legs.values()
            return {number: min(1.0, max(0.0, score)) for number, score in scores.items()}
        ranks = {leg: ranks_of(found) for leg, found in legs.items()}
        if "semantic" in ranks and "keyword" in ranks:
            without = {n: rank for n, rank in ranks["keyword"].items() if n not in cosines}
            ranks["semantic"] |= without
        return fuse_ranks(
            [(self._weights.get(leg, 1.0), found) for leg, found in ranks.items()], k=self._rrf_k
        )

    def _matrix(self, db: sqlite3.Connection, query: _Query, found: Sequence[int]) -> Matrix | None:
        """The vectors to search in; None where there are none, or nothing to search with.

        Args:
            db: The index.
            query: Where a store named the nearest texts, only these are searched.
            found: The passages that were found otherwise; their cosines are wanted too.
        """
        vector = query.vector
        if self._embedder is None or self._matrices is None or vector is None:
            return None
        if query.nearest is None:
            matrix = self._matrices.current(db)
        else:
            chunk_ids = [*chunks_of(db, query.nearest), *found]
            matrix = matrix_of(db, identity(self._embedder), chunk_ids)
        if not len(matrix.rows):
            return None
        if matrix.rows.shape[1] != vector.size:
            raise EmbeddingError(
                f"the embedding of the query has {vector.size} numbers, those of the index "
                f"{matrix.rows.shape[1]}: the provider's model has changed; delete "
                f"{self._database.path} to build the index anew"
            )
        return matrix


def _by_keyword(db: sqlite3.Connection, query: str, depth: int) -> dict[int, float]:
    return _relative(store.keyword_matches(db, match_expression(query), depth))


def _relative(scored: list[tuple[int, float]]) -> dict[int, float]:
    """BM25 scores as shares of the highest; they have no scale of their own."""
    highest = max((score for _, score in scored), default=0.0)
    return {number: score / highest if highest > 0 else 1.0 for number, score in scored}


def _clean(query: str) -> str:
    """The part of a query that counts, without what is no character."""
    head = query[:MOST_QUERY_CHARS].replace("\0", " ")
    return head.encode("utf-8", "replace").decode("utf-8").strip()
