"""Gives a vector to each text of an index that has none; what fails is marked, never made up."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import ParamSpec

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.concurrency.threads import in_thread
from holodeck_backend_claude.concurrency.together import together
from holodeck_backend_claude.contract import Embedder
from holodeck_backend_claude.retrieval.embedding.embeddings import unit_vector
from holodeck_backend_claude.retrieval.errors import EmbeddingError
from holodeck_backend_claude.retrieval.indexing import vectors
from holodeck_backend_claude.retrieval.indexing.database import Database
from holodeck_backend_claude.retrieval.indexing.lock import exclusive, files_lock

P = ParamSpec("P")

TEXTS_PER_CALL = 64
CALLS_AT_ONCE = 4
_MOST_FAILURES_IN_A_ROW = 10
"""More than one refused text can cause in a call that is halved until it stands alone."""


async def embed_missing(
    database: Database,
    embedder: Embedder,
    progress: Callable[[int, int], None],
    *,
    is_wanted: Callable[[], bool] = lambda: True,
) -> None:
    """Embed what has no vector yet, a bounded number of texts and calls at a time.

    Each call's vectors are stored at once, so that a run that is cut off loses little. A call
    that fails because of its texts is halved, until the text that is refused stands alone. A
    failure of the provider itself ends the run; the texts that are left are marked with it.

    Args:
        database: The index.
        embedder: Who makes the vectors.
        progress: ``progress(done, total)``, in texts.
        is_wanted: Asked before each call; False ends the run after the calls that are made.
    """
    run = _Run(database, embedder, progress, is_wanted)
    await run.prepare()
    await together(run.work() for _ in range(CALLS_AT_ONCE))
    await run.mark_the_rest()


class _Run:
    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        progress: Callable[[int, int], None],
        is_wanted: Callable[[], bool],
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._identity = identity(embedder)
        self._progress = progress
        self._is_wanted = is_wanted
        self._batches: deque[list[bytes]] = deque()
        self._dimensions = embedder.dimensions
        self._total = 0
        self._done = 0
        self._failures_in_a_row = 0
        self._writing = asyncio.Lock()
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
        while self._batches and self._end is None and self._is_wanted():
            batch = self._batches.popleft()
            await self._embed(batch)
            self._done += len(batch)
            self._progress(self._done, self._total)

    async def mark_the_rest(self) -> None:
        """Say of the texts that were left why they have no vector."""
        if self._end is not None:
            await self._write(self._mark_missing, self._end)

    async def _embed(self, wanted: list[bytes]) -> None:
        if self._end is not None:
            return
        texts = await in_thread(self._texts, wanted)
        if not texts:  # another run removed their documents
            return
        try:
            rows = await self._call(list(texts.values()))
        except Exception as cause:  # noqa: BLE001  # a plugin's embedder may raise anything
            await self._handle(list(texts), cause)
        else:
            self._failures_in_a_row = 0
            await self._write(self._save, list(texts), rows)

    async def _call(self, texts: list[str]) -> list[object]:
        rows = list(await self._embedder.embed_documents(texts))
        if len(rows) != len(texts):
            raise EmbeddingError(f"{len(rows)} embeddings came for {len(texts)} texts")
        return rows

    async def _handle(self, of: list[bytes], cause: Exception) -> None:
        """Halve a call that failed, note a single text that failed, or end the run."""
        self._failures_in_a_row += 1
        is_provider = isinstance(cause, EmbeddingError) and not cause.rejected_input
        if is_provider or self._failures_in_a_row > _MOST_FAILURES_IN_A_ROW:
            self._end = f"embedding failed: {_told(cause)}"
        elif len(of) == 1:
            await self._write(self._mark, {of[0]: f"embedding failed: {_told(cause)}"})
        else:
            middle = len(of) // 2
            await self._embed(of[:middle])
            await self._embed(of[middle:])

    async def _write(self, change: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Make a change while no run changes the files, which takes longer than SQLite waits."""
        async with self._writing, exclusive(files_lock(self._database.path), lambda: None):
            await in_thread(change, *args, **kwargs)

    # ------------------------------------------------------------- what touches the database

    def _missing(self) -> list[bytes]:
        with self._database.reading() as db:
            self._dimensions = self._dimensions or vectors.dimensions(db, self._identity)
            return vectors.texts_without_vector(db, self._identity)

    def _texts(self, wanted: list[bytes]) -> dict[bytes, str]:
        with self._database.reading() as db:
            return vectors.texts(db, wanted)

    def _save(self, of: Sequence[bytes], rows: Sequence[object]) -> None:
        good: dict[bytes, NDArray[np.float32]] = {}
        bad: dict[bytes, str] = {}
        for text_hash, row in zip(of, rows, strict=True):
            try:
                good[text_hash] = unit_vector(row, self._dimensions)
            except EmbeddingError as cause:
                bad[text_hash] = f"embedding refused: {cause}"
            else:
                self._dimensions = good[text_hash].size
        with self._database.writing() as db:
            vectors.save_vectors(db, self._identity, good)
            vectors.mark_failed(db, bad)

    def _mark(self, causes: dict[bytes, str]) -> None:
        with self._database.writing() as db:
            vectors.mark_failed(db, causes)

    def _mark_missing(self, cause: str) -> None:
        with self._database.writing() as db:
            missing = vectors.texts_without_vector(db, self._identity)
            vectors.mark_failed(db, dict.fromkeys(missing, cause))


def identity(embedder: Embedder) -> str:
    """What vectors are stored under: the fingerprint, and the length where it is known."""
    return f"{embedder.fingerprint}#{embedder.dimensions or ''}"


def _told(cause: Exception) -> str:
    return str(cause) or type(cause).__name__
