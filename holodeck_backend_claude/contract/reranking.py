"""Passages that were found, judged once more against the query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Says how well passages answer a query, reading both together."""

    async def scores(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        """How well each passage answers the query, from 0.0 to 1.0.

        Args:
            query: What was searched for.
            passages: The best passages of the search, a few dozen.

        Returns:
            One number for each passage, in their order.
        """
        ...
