"""A folder of documents with an index over it, and an embedder that counts its calls."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.contract import Embedder
from holodeck_backend_claude.retrieval import (
    ChunkSettings,
    Database,
    Index,
    IndexReport,
    Searcher,
    SearchResult,
)

Floats = NDArray[np.float32]


class WordEmbedder:
    """Texts with common words are similar; no model, and every call is recorded."""

    def __init__(self, *, fingerprint: str = "words-1", dimensions: int = 64) -> None:
        self.fingerprint = fingerprint
        self.dimensions: int | None = dimensions
        self.size = dimensions
        self.calls: list[list[str]] = []
        self.queries: list[str] = []
        self.before: Callable[[Sequence[str]], None] = lambda _texts: None

    @property
    def texts(self) -> list[str]:
        """Everything that was embedded, queries apart."""
        return [text for call in self.calls for text in call]

    async def embed_documents(self, texts: Sequence[str]) -> Floats:
        self.calls.append(list(texts))
        self.before(texts)
        return np.stack([self.vector(text) for text in texts])

    async def embed_query(self, text: str) -> Floats:
        self.queries.append(text)
        self.before([text])
        return self.vector(text)

    async def close(self) -> None: ...

    def vector(self, text: str) -> Floats:
        vector = np.full(self.size, 1e-3, np.float32)
        for word in re.findall(r"\w+", text.lower()):
            digest = hashlib.sha256(word.encode()).digest()
            vector[int.from_bytes(digest[:4], "big") % self.size] += 1
        return vector


class Lab:
    """Documents in ``docs``, the index in ``cache``."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.docs = base / "docs"
        self.docs.mkdir()
        self.database = Database(base / "cache" / "index.db")
        self.progress: list[tuple[str, int, int]] = []

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(data)
        return path

    def index(self, embedder: Embedder | None = None, *, size: int = 64, overlap: int = 0) -> Index:
        return Index(
            self.database,
            source="docs",
            base_dir=self.base,
            settings=ChunkSettings(size, overlap),
            embedder=embedder,
            progress=lambda *told: self.progress.append(told),
        )

    async def update(self, embedder: Embedder | None = None, *, size: int = 64) -> IndexReport:
        return await self.index(embedder, size=size).update()

    async def search(
        self,
        query: str,
        embedder: Embedder | None = None,
        *,
        limit: int = 10,
        min_similarity: float | None = None,
    ) -> list[SearchResult]:
        searcher = Searcher(self.database, embedder)
        return await searcher.search(query, limit=limit, min_similarity=min_similarity)

    async def sources(self, query: str, embedder: Embedder | None = None) -> list[str]:
        return [result.source_path for result in await self.search(query, embedder)]

    def rows(self, query: str) -> list[tuple[object, ...]]:
        with self.database.reading() as db:
            return db.execute(query).fetchall()
