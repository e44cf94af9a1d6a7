"""Reciprocal rank fusion: several rankings to one, by ranks alone."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def fuse(rankings: Sequence[tuple[float, Sequence[T]]], *, k: float) -> dict[T, float]:
    """The fused score of everything ranked, 0.0 to 1.0, highest first.

    The score is ``sum(weight / (k + rank)) / sum(weight / (k + 1))`` with ranks from 1, so that
    1.0 is what stands first in every ranking. (Cormack, Clarke and Büttcher, SIGIR 2009, without
    the division.)

    Args:
        rankings: The weight of each ranking, and its items from the best on.
        k: How slowly the score falls with the rank.
    """
    most = sum(weight / (k + 1) for weight, _ in rankings)
    scores: dict[T, float] = {}
    for weight, items in rankings:
        for rank, item in enumerate(items, start=1):
            scores[item] = scores.get(item, 0.0) + weight / (k + rank) / most
    return dict(sorted(scores.items(), key=lambda scored: -scored[1]))
