"""An index on disk over a folder of documents: opened, brought up to date, and reported on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from holodeck_backend_claude.concurrency.threads import in_thread
from holodeck_backend_claude.contract import ConfigError, Embedder, ShowProgress
from holodeck_backend_claude.retrieval.errors import RetrievalError
from holodeck_backend_claude.retrieval.indexing import store, vectors
from holodeck_backend_claude.retrieval.indexing.database import Database
from holodeck_backend_claude.retrieval.indexing.lock import exclusive, files_lock, vectors_lock
from holodeck_backend_claude.retrieval.indexing.remote import RemoteVectors
from holodeck_backend_claude.retrieval.indexing.schema import DamagedIndexError
from holodeck_backend_claude.retrieval.indexing.sync import ChunkSettings, SyncReport, sync_files
from holodeck_backend_claude.retrieval.indexing.vectorize import embed_missing, identity
from holodeck_backend_claude.retrieval.sources import Skipped, nothing_found

log = logging.getLogger(__name__)

Mode: TypeAlias = Literal["hybrid", "keyword"]


@dataclass(frozen=True)
class IndexReport:
    """What an index holds, and what it does not.

    Attributes:
        files: Documents in the index.
        chunks: Their passages.
        embedded: Passages that have a vector.
        changed: Documents that were read and cut anew by this run.
        removed: Documents that were gone.
        skipped: What was found and is not in the index, with causes.
        not_embedded: Documents that are, wholly or in part, found by keyword only, with causes.
        mode: ``hybrid`` searches by meaning and keyword, ``keyword`` by keyword only.
    """

    files: int
    chunks: int
    embedded: int
    changed: int
    removed: int
    skipped: tuple[Skipped, ...]
    not_embedded: tuple[Skipped, ...]
    mode: Mode


class Index:
    """The index of one tool.

    Args:
        database: Its file.
        source: A file or a folder of documents.
        base_dir: Where a relative source starts.
        settings: How documents are cut.
        embedder: Who makes vectors; None for keywords only.
        progress: Told how far a run is, on the event loop.
        remote: Where its vectors are searched; None searches them in memory.
    """

    def __init__(  # noqa: PLR0913  # all of them are what an index is made of
        self,
        database: Database,
        *,
        source: str,
        base_dir: Path,
        settings: ChunkSettings,
        embedder: Embedder | None,
        progress: ShowProgress,
        remote: RemoteVectors | None = None,
    ) -> None:
        self.database = database
        self.embedder = embedder
        self._source = source
        self._base_dir = base_dir
        self._settings = settings
        self._progress = progress
        self._remote = remote
        self._anew = False
        self._synced: SyncReport | None = None

    async def update(self, *, anew: bool = False) -> IndexReport:
        """:meth:`read_files`, then :meth:`embed`, and both again where the file is damaged."""
        await self.read_files(anew=anew)
        try:
            return await self.embed()
        except DamagedIndexError as damage:
            await self.read_files(damage=damage)
            return await self.embed()

    async def read_files(
        self, *, damage: DamagedIndexError | None = None, anew: bool = False
    ) -> IndexReport:
        """Open the index and bring its passages in line with the files; they are found by keyword.

        Only what changed is read. One run at a time works on an index; others wait. No
        :meth:`embed` of this object may run meanwhile.

        Args:
            damage: What a search ran into; the file is built anew, unless that was done since.
            anew: Read everything, and forget every vector.

        Raises:
            ConfigError: There is no such source, or nothing in it can be indexed.
            RetrievalError: The index cannot be opened or written.
        """
        self._anew |= anew
        await in_thread(self.database.make_folder)
        async with exclusive(files_lock(self.database.path), self._say_waiting):
            if damage and damage.file and self.database.has_at_its_place(damage.file):
                await in_thread(self._set_aside, str(damage))
            try:
                return await self._read(anew=anew)
            except DamagedIndexError as cause:
                await in_thread(self._set_aside, str(cause))
                return await self._read(anew=anew)

    async def embed(self, *, is_wanted: Callable[[], bool] = lambda: True) -> IndexReport:
        """Make the vectors that are missing, after :meth:`read_files`.

        Those that another process makes meanwhile are waited for, and not made twice.

        Args:
            is_wanted: Asked now and then; False ends the run, which keeps what it made.

        Raises:
            RetrievalError: The index cannot be read or written.
        """
        if self.embedder is not None:
            async with exclusive(vectors_lock(self.database.path), self._say_waiting):
                await embed_missing(
                    self.database,
                    self.embedder,
                    lambda done, total: self._progress("embedding", done, total),
                    is_wanted=is_wanted,
                )
                async with exclusive(files_lock(self.database.path), self._say_waiting):
                    await in_thread(self._drop_spares, identity(self.embedder))
                if self._remote is not None and is_wanted():
                    await self._remote.update(
                        self.database,
                        identity(self.embedder),
                        lambda done, total: self._progress("sending vectors", done, total),
                        anew=self._anew,
                        is_wanted=is_wanted,
                    )
                    self._anew = False
        return await in_thread(self._report, self._synced)

    def _say_waiting(self) -> None:
        self._progress("waiting for another run", 0, 1)

    def _set_aside(self, cause: str) -> None:
        aside = self.database.set_aside()
        log.warning(
            "the index %s is built anew: %s; the old file is now %s",
            self.database.path, cause, aside.name,
        )  # fmt: skip

    async def _read(self, *, anew: bool) -> IndexReport:
        await in_thread(self.database.open)
        self._synced = synced = await in_thread(
            sync_files,
            self.database,
            self._source,
            self._base_dir,
            self._settings,
            self._from_thread("reading"),
            anew=anew,
        )
        report = await in_thread(self._report, synced)
        if not report.chunks:
            raise ConfigError(nothing_found(synced.found, synced.skipped))
        return report

    def _from_thread(self, label: str) -> Callable[[int, int], None]:
        loop = asyncio.get_running_loop()

        def progress(done: int, total: int) -> None:
            loop.call_soon_threadsafe(self._progress, label, done, total)

        return progress

    def _report(self, synced: SyncReport | None) -> IndexReport:
        if synced is None:
            raise RetrievalError(f"the index {self.database.path} has not been read yet")
        fingerprint = identity(self.embedder) if self.embedder else ""
        with self.database.reading() as db:
            files, chunks = store.counts(db)
            embedded = vectors.count_embedded(db, fingerprint)
            is_complete = self.embedder is None or embedded == chunks
            missing = [] if is_complete else vectors.failures(db, fingerprint)
        return IndexReport(
            files=files,
            chunks=chunks,
            embedded=embedded,
            changed=synced.changed,
            removed=synced.removed,
            skipped=tuple(synced.skipped),
            not_embedded=tuple(missing),
            mode="hybrid" if embedded else "keyword",
        )

    def _drop_spares(self, fingerprint: str) -> None:
        """Drop the vectors that nobody needs any more."""
        with self.database.reading() as db:
            _files, chunks = store.counts(db)
            has_spares = vectors.has_too_many(db, chunks)
        if has_spares:
            with self.database.writing() as db:
                vectors.drop_spare_vectors(db, fingerprint)
