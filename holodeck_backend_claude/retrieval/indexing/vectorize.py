"""Gives a vector to each text of an index that has none; what fails is marked, never made up."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.concurrency.threads import in_thread
from holodeck_backend_claude.concurrency.together import together
from holodeck_backend_claude.contract import Embedder
from holodeck_backend_claude.retrieval.embedding.embeddings import unit_vector
from holodeck_backend_claude.retrieval.errors import EmbeddingError
from holodeck_backend_claude.retrieval.indexing import vectors
from holodeck_backend_claude.retrieval.indexing.database import Database

TEXTS_PER_CALL = 64
CALLS_AT_ONCE = 4
_MOST_FAILURES_IN_A_ROW = 10
"""More than one refused text can cause in a call that is halved until it stands alone."""


async def embed_missing(
    database: Database, embedder: Embedder, progress: Callable[[int, int], None]
) -> None:
    """Embed what has no vector yet, a bounded number of texts and calls at a time.

    Each call's vectors are stored at once, so that a run that is cut off loses little. A call
    that fails because of its texts is halved, until the text that is refused stands alone. A
    failure of the provider itself ends the run; the texts that are left are marked with it.

    Args:
        database: The index.
        embedder: Who makes the vectors.
        progress: ``progress(done, total)``, in texts.
    """
    run = _Run(database, embedder, progress)
    await run.prepare()
    await together(run.work() for _ in range(CALLS_AT_ONCE))
    await run.mark_the_rest()


class _Run:
    def __init__(
        self, database: Database, embedder: Embedder, progress: Callable[[int, int], None]
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._identity = identity(embedder)
        self._progress = progress
        self._batches: deque[list[int]] = deque()
        self._dimensions = embedder.dimensions
        self._total = 0
        self._done = 0
        self._failures_in_a_row = 0
        self._end: str | None = None  # why no more calls are made

    async def prepare(self) -> None:
        """Find what is missing."""
        missing = await in_thread(self._missing)
        self._total = len(missing)
        self._batches.extend(
            missing[start : start + TEXTS_PER_CALL]
            for start in range(0, len(missing), TEXTS_PER_CALL)
        )

    async def work(self) -> None:
        """Take one batch after the other."""
        while self._batches and self._end is None:
            batch = self._batches.popleft()
            await self._embed(batch)
            self._done += len(batch)
            self._progress(self._done, self._total)

    async def mark_the_rest(self) -> None:
        """Say of the texts that were left why they have no vector."""
        if self._end is not None:
            await in_thread(self._mark_missing, self._end)

    async def _embed(self, chunk_ids: list[int]) -> None:
        if self._end is not None:
            return
        texts = await in_thread(self._texts, chunk_ids)
        try:
            rows = await self._call(texts)
        except Exception as cause:  # noqa: BLE001  # a plugin's embedder may raise anything
            await self._handle(chunk_ids, cause)
        else:
            self._failures_in_a_row = 0
            await in_thread(self._save, chunk_ids, rows)

    async def _call(self, texts: list[str]) -> list[object]:
        rows = list(await self._embedder.embed_documents(texts))
        if len(rows) != len(texts):
            raise EmbeddingError(f"{len(rows)} embeddings came for {len(texts)} texts")
        return rows

    async def _handle(self, chunk_ids: list[int], cause: Exception) -> None:
        """Halve a call that failed, note a single text that failed, or end the run."""
        self._failures_in_a_row += 1
        is_provider = isinstance(cause, EmbeddingError) and not cause.rejected_input
        if is_provider or self._failures_in_a_row > _MOST_FAILURES_IN_A_ROW:
            self._end = f"embedding failed: {_told(cause)}"
        elif len(chunk_ids) == 1:
            await in_thread(self._mark, {chunk_ids[0]: f"embedding failed: {_told(cause)}"})
        else:
            middle = len(chunk_ids) // 2
            await self._embed(chunk_ids[:middle])
            await self._embed(chunk_ids[middle:])

    # ------------------------------------------------------------- what touches the database

    def _missing(self) -> list[int]:
        with self._database.reading() as db:
            self._dimensions = self._dimensions or vectors.dimensions(db, self._identity)
            return vectors.chunks_without_vector(db, self._identity)

    def _texts(self, chunk_ids: list[int]) -> list[str]:
        with self._database.reading() as db:
            return vectors.texts(db, chunk_ids)

    def _save(self, chunk_ids: Sequence[int], rows: Sequence[object]) -> None:
        good: dict[int, NDArray[np.float32]] = {}
        bad: dict[int, str] = {}
        for number, row in zip(chunk_ids, rows, strict=True):
            try:
                good[number] = unit_vector(row, self._dimensions)
            except EmbeddingError as cause:
                bad[number] = f"embedding refused: {cause}"
            else:
                self._dimensions = good[number].size
        with self._database.writing() as db:
            vectors.save_vectors(db, self._identity, good)
            vectors.mark_failed(db, bad)

    def _mark(self, causes: dict[int, str]) -> None:
        with self._database.writing() as db:
            vectors.mark_failed(db, causes)

    def _mark_missing(self, cause: str) -> None:
        with self._database.writing() as db:
            missing = vectors.chunks_without_vector(db, self._identity)
            vectors.mark_failed(db, dict.fromkeys(missing, cause))


def identity(embedder: Embedder) -> str:
    """What vectors are stored under: the fingerprint, and the length where it is known."""
    return f"{embedder.fingerprint}#{embedder.dimensions or ''}"


def _told(cause: Exception) -> str:
    return str(cause) or type(cause).__name__
