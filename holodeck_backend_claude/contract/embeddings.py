"""Texts into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Turns text into vectors; vectors of similar texts point the same way.

    Attributes:
        fingerprint: Names the model. Vectors are reused as long as it stays the same.
        dimensions: Length of a vector; None where only an answer of the provider tells.
    """

    @property
    def fingerprint(self) -> str: ...  # noqa: D102
    @property
    def dimensions(self) -> int | None: ...  # noqa: D102

    async def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of passages, of shape ``(len(texts), dimensions)``.

        Raises:
            EmbeddingError: The call failed; ``rejected_input`` tells whether other texts may work.
        """
        ...

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query, of shape ``(dimensions,)``.

        Raises:
            EmbeddingError: The call failed.
        """
        ...

    async def close(self) -> None:
        """Release what it holds; may be called twice, and it may be used again."""
        ...
