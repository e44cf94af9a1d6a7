"""The store that ``database:`` of a tool names; nothing is connected until its first call."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from holodeck_backend_claude.config import DatabaseConfig
from holodeck_backend_claude.contract import ConfigError
from holodeck_backend_claude.import_strings import resolve
from holodeck_backend_claude.retrieval.stores.contract import VectorStore


class _Kind(NamedTuple):
    """A kind of store: how it is made, the module it needs if any, and the extra that brings it."""

    make: Callable[[DatabaseConfig, str, Path], VectorStore]
    needs: str | None = None
    extra: str = ""


def make_store(config: DatabaseConfig, *, owner: str, base_dir: Path) -> VectorStore | None:
    """The store for the vectors of one tool.

    Args:
        config: What agent.yaml says.
        owner: Agent and tool, from which the name of the collection is made.
        base_dir: The folder of agent.yaml; relative paths start here, and it is part of the name
            of the collection: two agents of one name in two folders have two.

    Returns:
        The store; None for ``in-memory``, which is what the index file does by itself.

    Raises:
        ConfigError: A package is missing.
    """
    if config.provider == "in-memory":
        return None
    kind = _KINDS[config.provider]
    if kind.needs is not None and find_spec(kind.needs) is None:
        raise ConfigError(
            f"'database.provider: {config.provider}' needs the package {kind.needs}: "
            f'pip install "holodeck-backend-claude[{kind.extra}]"'
        )
    collection = config.collection or _collection(owner, base_dir)
    return kind.make(config, collection, base_dir)


def _collection(owner: str, base_dir: Path) -> str:
    """A name that every store takes: letters, digits and ``_``, 50 characters at most."""
    words = re.sub(r"[^a-z0-9]+", "_", owner.lower()).strip("_")[:30]
    digest = hashlib.sha256(f"{owner}\0{base_dir.resolve()}".encode()).hexdigest()[:10]
    return f"holodeck_{words}_{digest}"


def _postgres(config: DatabaseConfig, collection: str, _base_dir: Path) -> VectorStore:
    from holodeck_backend_claude.retrieval.stores.postgres import PostgresVectors

    return PostgresVectors(config.secret_of("connection_string"), collection)


def _qdrant(config: DatabaseConfig, collection: str, base_dir: Path) -> VectorStore:
    from holodeck_backend_claude.retrieval.stores.qdrant import QdrantVectors

    return QdrantVectors(
        collection,
        url=config.url,
        api_key=config.secret_of("api_key") or None,
        path=base_dir / config.path if config.path else None,
    )


def _faiss(config: DatabaseConfig, collection: str, base_dir: Path) -> VectorStore:
    from holodeck_backend_claude.retrieval.stores.faiss import FaissVectors

    return FaissVectors(base_dir / (config.path or ".holodeck/faiss"), collection)


def _server(name: str) -> Callable[[DatabaseConfig, str, Path], VectorStore]:
    """A store with a URL and a key, which needs no package of its own."""

    def make(config: DatabaseConfig, collection: str, _base_dir: Path) -> VectorStore:
        kind: Callable[..., VectorStore] = resolve(f"{__package__}.{name}")
        return kind(collection, url=config.url, api_key=config.secret_of("api_key") or None)

    return make


_KINDS = {
    "postgres": _Kind(_postgres, "psycopg", "postgres"),
    "qdrant": _Kind(_qdrant, "qdrant_client", "qdrant"),
    "faiss": _Kind(_faiss, "faiss", "faiss"),
    "chromadb": _Kind(_server("chroma:ChromaVectors")),
    "weaviate": _Kind(_server("weaviate:WeaviateVectors")),
    "pinecone": _Kind(_server("pinecone:PineconeVectors")),
    "azure-ai-search": _Kind(_server("azure_search:AzureSearchVectors")),
}
