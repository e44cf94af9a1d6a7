"""VectorStoreTool: search over a file or folder of documents."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from holodeck_backend_claude.concurrency import in_thread
from holodeck_backend_claude.config import VectorstoreTool
from holodeck_backend_claude.contract import Embedder, ShowProgress
from holodeck_backend_claude.retrieval import (
    MEASURED,
    ChunkSettings,
    RecordSettings,
    SearchResult,
    VectorStore,
)
from holodeck_backend_claude.tools.indexed import IndexedDocuments, SearchSettings, store_of

if TYPE_CHECKING:
    from holodeck_backend_claude.hookspecs import ToolContext


class VectorStoreTool(IndexedDocuments):
    """Searches the documents of one ``type: vectorstore`` tool.

    Args:
        config: What agent.yaml says.
        base_dir: The folder of agent.yaml; a relative ``source`` starts here.
        cache_dir: The folder of this tool's index, for it alone.
        embedder: Who makes vectors, closed by whoever made it; None for search by keyword only.
        store: Where vectors are searched, closed with the tool; None searches them in memory.
        progress: ``progress(label, done, total)``, told how far the indexing is.
        log: Where messages go.

    Attributes:
        config: As given.
        report: What the index holds, and what was skipped; None before it is initialized.
    """

    def __init__(  # noqa: PLR0913  # all of them are what a search tool is made of
        self,
        config: VectorstoreTool,
        *,
        base_dir: Path,
        cache_dir: Path,
        embedder: Embedder | None,
        store: VectorStore | None = None,
        progress: ShowProgress | None = None,
        log: logging.Logger | None = None,
    ) -> None:
        super().__init__(
            config,
            how=SearchSettings(
                ChunkSettings(config.chunk_size, config.chunk_overlap, records=_records(config)),
                MEASURED,
                limit=config.top_k,
                min_similarity=config.min_similarity_score,
            ),
            base_dir=base_dir,
            cache_dir=cache_dir,
            embedder=embedder,
            store=store,
            progress=progress,
            log=log or logging.getLogger(__name__),
        )

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
            parts.append(f"[{number}] {_record(result) if result.record_id else _passage(result)}")
        return "\n\n".join(parts)


def _passage(result: SearchResult) -> str:
    head = f"Score: {result.fused_score:.2f} | Source: {result.source_path}"
    return f"{head}\n{result.content}"


def _record(result: SearchResult) -> str:
    lines = [
        f"ID: {result.record_id} | Score: {result.fused_score:.2f}",
        f"Content: {result.content}",
    ]
    if result.metadata:
        told = ", ".join(f"{name}: {value}" for name, value in result.metadata.items())
        lines.append(f"Metadata: {told}")
    return "\n".join(lines)


def _records(config: VectorstoreTool) -> RecordSettings | None:
    if config.id_field is None:
        return None
    return RecordSettings(
        config.id_field,
        config.vector_fields,
        config.meta_fields,
        field_separator=config.field_separator,
        delimiter=config.delimiter,
        record_path=config.record_path,
        record_prefix=config.record_prefix or "",
        meta_prefix=config.meta_prefix or "",
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
        store=store_of(config, context),
        progress=context.progress,
        log=context.log,
    )
    async with tool.opened(anew=context.anew):
        yield tool
