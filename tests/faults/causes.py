"""All causes, in the order of the page: those of every test module of this folder."""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.faults.registry import CAUSES, Cause


def all_causes() -> tuple[Cause, ...]:
    """Import every test module and return what they registered, in the order of the files.

    The order in which they were imported before does not count.
    """
    paths = sorted(Path(__file__).parent.glob("test_*.py"))
    modules = [importlib.import_module(f"tests.faults.{path.stem}") for path in paths]
    by_test = {f"test_{cause.id}": cause for cause in CAUSES}
    return tuple(by_test[name] for module in modules for name in vars(module) if name in by_test)
