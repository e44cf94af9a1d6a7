"""All causes, in the order of the page: those of every test module of this folder."""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.faults.registry import CAUSES, Cause


def all_causes() -> tuple[Cause, ...]:
    """Import every test module and return what they registered."""
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        importlib.import_module(f"tests.faults.{path.stem}")
    unique = {cause.id: cause for cause in CAUSES}
    return tuple(unique.values())
