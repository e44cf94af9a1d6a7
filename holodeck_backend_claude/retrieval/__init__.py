"""Retrieval: sources to documents, chunks, vectors and keywords, and from these to results."""

from holodeck_backend_claude.retrieval.documents.chunking import Structure
from holodeck_backend_claude.retrieval.documents.records import RecordSettings
from holodeck_backend_claude.retrieval.embedding.embeddings import make_embedder
from holodeck_backend_claude.retrieval.errors import EmbeddingError, RetrievalError
from holodeck_backend_claude.retrieval.indexing.database import Database
from holodeck_backend_claude.retrieval.indexing.index import Index, IndexReport
from holodeck_backend_claude.retrieval.indexing.remote import RemoteVectors
from holodeck_backend_claude.retrieval.indexing.sync import ChunkSettings
from holodeck_backend_claude.retrieval.ranking.searcher import Searcher
from holodeck_backend_claude.retrieval.ranking.settings import MEASURED, RankingSettings
from holodeck_backend_claude.retrieval.results import SearchResult
from holodeck_backend_claude.retrieval.sources import Skipped
from holodeck_backend_claude.retrieval.stores import StoreError, VectorStore, make_store

__all__ = [
    "MEASURED",
    "ChunkSettings",
    "Database",
    "EmbeddingError",
    "Index",
    "IndexReport",
    "RankingSettings",
    "RecordSettings",
    "RemoteVectors",
    "RetrievalError",
    "SearchResult",
    "Searcher",
    "Skipped",
    "StoreError",
    "Structure",
    "VectorStore",
    "make_embedder",
    "make_store",
]
