"""Which rankings a search fuses, and how much each of them counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Leg: TypeAlias = Literal["semantic", "keyword", "exact"]
"""One ranking: by meaning, by the words of the query, or by the query word for word."""

SearchMode: TypeAlias = Literal["semantic", "keyword", "exact", "hybrid"]
"""One leg alone, or all of them fused."""

RRF_K = 20.0
"""Measured: ``benchmarks/retrieval_quality.py`` sweeps it."""


@dataclass(frozen=True)
class RankingSettings:
    """How a search ranks.

    Attributes:
        mode: The legs.
        semantic_weight: How much the ranking by meaning counts in a hybrid search.
        keyword_weight: How much the ranking by keyword counts.
        exact_weight: How much it counts that a passage holds the query word for word.
        rrf_k: How slowly the fused score falls with the rank.
    """

    mode: SearchMode = "hybrid"
    semantic_weight: float = 1.0
    keyword_weight: float = 1.0
    exact_weight: float = 0.0
    rrf_k: float = RRF_K

    @property
    def weights(self) -> Mapping[Leg, float]:
        """The weight of each leg that is searched; those without weight are not."""
        if self.mode != "hybrid":
            return {self.mode: 1.0}
        weights: dict[Leg, float] = {
            "semantic": self.semantic_weight,
            "keyword": self.keyword_weight,
            "exact": self.exact_weight,
        }
        return {leg: weight for leg, weight in weights.items() if weight > 0}


MEASURED = RankingSettings()
"""Meaning and keywords alike: the best of what was measured on four collections."""
