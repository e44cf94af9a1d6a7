"""Fixtures of the end-to-end tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from .lab import Lab, nothing_left


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    async with AsyncExitStack() as stack, nothing_left(tmp_path), stack:
        yield Lab(tmp_path, stack)
