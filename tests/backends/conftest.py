"""Fixtures of the tests that every backend has to pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .stage import BACKENDS, Stage


@pytest.fixture(params=list(BACKENDS))
def stage(
    request: pytest.FixtureRequest, tmp_path: Path, make_adapter: Callable[..., Any]
) -> Stage:
    return Stage(request.param, tmp_path, make_adapter)
