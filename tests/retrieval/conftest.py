"""The lab of the retrieval tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .lab import Lab, WordEmbedder
from .workers import start

__all__ = ["embedder", "lab", "start"]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """A folder of documents with an index."""
    made = Lab(tmp_path)
    yield made
    made.database.close()


@pytest.fixture
def embedder() -> WordEmbedder:
    """An embedder that counts its calls."""
    return WordEmbedder()
