"""Keyword search on public test collections, where they are at hand."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from .lab import Lab

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    """``benchmarks/retrieval_quality.py`` as a module."""
    spec = importlib.util.spec_from_file_location(
        "retrieval_quality", ROOT / "benchmarks" / "retrieval_quality.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_ndcg_is_that_of_the_definition(benchmark: ModuleType) -> None:
    collection = benchmark.Collection("x", {}, {"q": "?"}, {"q": {"a", "b"}})
    assert collection.ndcg({"q": ["a", "b"]}) == pytest.approx(1.0)
    assert collection.ndcg({"q": ["a", "a", "x", "b"]}) == pytest.approx((1 + 0.5) / 1.63093, 1e-4)
    assert collection.ndcg({"q": []}) == 0.0


@pytest.mark.parametrize(("name", "least"), [("cranfield", 0.515), ("cisi", 0.38)])
async def test_keyword_search_is_as_good_as_was_measured(
    name: str, least: float, benchmark: ModuleType, lab: Lab
) -> None:
    if not (benchmark.DATA / name / "corpus.jsonl").is_file():
        pytest.skip(f"the collection is not in {benchmark.DATA}")
    collection = benchmark.Collection.read(benchmark.DATA / name)
    for number, text in collection.documents.items():
        if text.strip():
            lab.write(f"{number}.txt", text)
    await lab.index(size=200, overlap=30).update()
    rankings = {
        number: [r.source_path.removesuffix(".txt") for r in await lab.search(text, limit=100)]
        for number, text in collection.queries.items()
    }
    assert collection.ndcg(rankings) >= least
