"""The best passages of a search in the order of a reranker, or as they were where it fails."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Sequence

from holodeck_backend_claude.contract import Reranker
from holodeck_backend_claude.failures import cause_text

log = logging.getLogger(__name__)

CANDIDATES = 50
"""Passages that a reranker reads, unless more are asked for."""

SECONDS = 30.0
"""How long a reranker may take."""


async def reranked(reranker: Reranker, query: str, passages: Sequence[str]) -> list[float] | None:
    """The scores of passages, from 0.0 to 1.0; None, and a warning, where there are none to use."""
    if not passages:
        return None
    try:
        async with asyncio.timeout(SECONDS):
            given = await reranker.scores(query, passages)
        return _checked(given, len(passages))
    except TimeoutError:
        why = f"it took longer than {SECONDS:g} s"
    except Exception as cause:  # noqa: BLE001  # a plugin's reranker may raise anything
        why = cause_text(cause)
    log.warning("this search is not reranked: %s", why)
    return None


def _checked(given: Sequence[float], wanted: int) -> list[float]:
    scores = [float(score) for score in given]
    if len(scores) != wanted:
        raise ValueError(f"{len(scores)} scores came for {wanted} passages")
    for score in scores:
        if not (math.isfinite(score) and 0.0 <= score <= 1.0):
            raise ValueError(f"a score is {score:g}, which is not from 0.0 to 1.0")
    return scores
