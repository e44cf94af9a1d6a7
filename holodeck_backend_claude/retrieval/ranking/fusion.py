"""Reciprocal rank fusion: several rankings to one, by ranks alone."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def fuse(rankings: Sequence[tuple[float, Sequence[T]]], *, k: float) -> dict[T, float]:
    """The fused score of everything ranked, 0.0 to 1.0, highest first.

    Args:
        rankings: The weight of each ranking, and its items from the best on.
        k: How slowly the score falls with the rank.
    """
    return fuse_ranks([(weight, ranks_of(items)) for weight, items in rankings], k=k)


def fuse_ranks(rankings: Sequence[tuple[float, Mapping[T, int]]], *, k: float) -> dict[T, float]:
    """The same for items with their ranks, from 1; several may have one rank.

    The score is ``sum(weight / (k + rank)) / sum(weight / (k + 1))``, so that 1.0 is what stands
    first in every ranking. (Cormack, Clarke and Büttcher, SIGIR 2009, without the division.)
    """
    most = sum(weight / (k + 1) for weight, _ in rankings)
    scores: dict[T, float] = {}
    for weight, ranks in rankings:
        for item, rank in ranks.items():
            scores[item] = scores.get(item, 0.0) + weight / (k + rank) / most
    return dict(sorted(scores.items(), key=lambda scored: -scored[1]))


def ranks_of(items: Iterable[T]) -> dict[T, int]:
    """The rank of each item of a ranking, from 1."""
    return {item: rank for rank, item in enumerate(items, start=1)}
