"""A process that brings an index up to date: ``worker.py BASE CALLS [KIND]``.

The kind is ``plain``, ``law`` (numbered parts, definitions and references) or ``records``.
So many embedding calls go through, further ones wait until standard input is closed. It tells its
progress line by line, ``embedded N`` after each call, and ``done`` at the end.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.retrieval import (
    ChunkSettings,
    Database,
    Index,
    RecordSettings,
    Structure,
)

KINDS = {
    "plain": ChunkSettings(64, 0),
    "law": ChunkSettings(
        64, 0, structure=Structure("us_legislative", definitions=True, references=True)
    ),
    "records": ChunkSettings(64, 0, records=RecordSettings("id", ("text",), ("price",))),
}


class Embedder:
    fingerprint = "worker"
    dimensions = 8

    def __init__(self, calls: int | None = None) -> None:
        self._calls = calls

    async def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._calls is not None:
            self._calls -= 1
            if self._calls < 0:
                await asyncio.to_thread(sys.stdin.read)
            tell("embedded", len(texts))
        return np.array([self._vector(text) for text in texts])

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._vector(text)

    async def close(self) -> None: ...

    def _vector(self, text: str) -> NDArray[np.float32]:
        return np.array([1 + text.count(char) for char in "aeiourst"], np.float32)


def tell(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def main(base: Path, calls: int, kind: str) -> None:
    index = Index(
        Database(base / "cache" / "index.db"),
        source="docs",
        base_dir=base,
        settings=KINDS[kind],
        embedder=Embedder(calls),
        progress=tell,
    )
    await index.update()
    index.database.close()
    tell("done")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), *(sys.argv[3:] or ["plain"])))
