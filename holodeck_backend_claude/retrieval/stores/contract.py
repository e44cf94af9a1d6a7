"""What a vector store is: a collection of vectors with ids, which finds the nearest ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol
from uuid import UUID, uuid5

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.retrieval.errors import RetrievalError

MOST_AT_ONCE = 500
"""Vectors of one call at most; servers bound the size of a request."""

MARK_ID = uuid5(UUID(int=0), "holodeck-backend-claude: mark")
"""The id of the mark where a collection can hold it only as one more vector; it is of no text."""


class StoreError(RetrievalError):
    """A vector store cannot be used; the text says which, and why."""


class VectorStore(Protocol):
    """One collection of one store. It holds vectors and ids; texts stay in the index file.

    What is put there is there when the call returns, and found by every later call. All calls
    raise :class:`StoreError` where the store is not there, refuses, or does not answer in time.
    They run in the event loop of the first one.

    Attributes:
        address: Where it is, without secrets.
    """

    address: str

    async def mark(self) -> str | None:
        """What :meth:`create` wrote on the collection.

        Returns:
            The text; empty where the collection was made by somebody else; None where there is
            none of that name.
        """

    async def create(self, mark: str, *, dimensions: int) -> None:
        """Make the collection, empty; one of that name is removed with all it holds.

        Args:
            mark: What is written on it, at most 500 characters.
            dimensions: The length of its vectors.
        """

    async def drop(self) -> None:
        """Remove the collection; nothing happens where there is none."""

    async def put(self, vectors: Mapping[UUID, NDArray[np.float32]]) -> None:
        """Add vectors of length 1, or replace those of the same id; at most 500."""

    async def remove(self, ids: Sequence[UUID]) -> None:
        """Remove vectors; an id that is not there is passed over; at most 500."""

    async def has(self, ids: Sequence[UUID]) -> set[UUID]:
        """Those of these ids that are there; at most 500."""

    async def nearest(self, vector: NDArray[np.float32], limit: int) -> list[UUID]:
        """The ids of the vectors with the highest cosine, the highest first.

        Args:
            vector: Of length 1 and of the shape ``(dimensions,)``.
            limit: At most 1,000.
        """

    async def close(self) -> None:
        """Give the connection up; may be called twice."""


def as_lists(vectors: Iterable[NDArray[np.float32]]) -> list[list[float]]:
    """Vectors as the clients of stores take them."""
    return [vector.astype(np.float32).tolist() for vector in vectors]
