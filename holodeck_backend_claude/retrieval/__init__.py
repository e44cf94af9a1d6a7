"""Retrieval: sources to documents, chunks, vectors and keywords, and from these to results."""

from holodeck_backend_claude.retrieval.database import Database
from holodeck_backend_claude.retrieval.embeddings import Embedder, make_embedder
from holodeck_backend_claude.retrieval.errors import EmbeddingError, RetrievalError
from holodeck_backend_claude.retrieval.index import Index, IndexReport, Progress
from holodeck_backend_claude.retrieval.results import SearchResult
from holodeck_backend_claude.retrieval.search import Searcher
from holodeck_backend_claude.retrieval.sources import Skipped
from holodeck_backend_claude.retrieval.sync import ChunkSettings

__all__ = [
    "ChunkSettings",
    "Database",
    "Embedder",
    "EmbeddingError",
    "Index",
    "IndexReport",
    "Progress",
    "RetrievalError",
    "SearchResult",
    "Searcher",
    "Skipped",
    "make_embedder",
]
