"""Reciprocal rank fusion against numbers worked out by hand."""

from __future__ import annotations

import pytest

from holodeck_backend_claude.retrieval.ranking.fusion import fuse


def test_the_fused_scores_are_those_of_the_formula() -> None:
    fused = fuse([(0.5, ["a", "b", "c"]), (0.3, ["b", "a", "d"])], k=60)
    assert fused == pytest.approx(
        {"a": 0.9939516129, "b": 0.9899193548, "c": 0.6051587302, "d": 0.3630952381}
    )
    assert list(fused) == ["a", "b", "c", "d"]


def test_what_is_first_everywhere_scores_one() -> None:
    assert fuse([(1.0, [1, 2]), (1.0, [1, 3])], k=20)[1] == pytest.approx(1.0)


def test_an_empty_ranking_leaves_the_order_of_the_other() -> None:
    assert list(fuse([(1.0, []), (1.0, ["x", "y"])], k=20)) == ["x", "y"]


def test_nothing_ranked_is_nothing_fused() -> None:
    assert fuse([(1.0, list[str]()), (1.0, [])], k=20) == {}
