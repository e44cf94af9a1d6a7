"""Fixtures of the Semantic Kernel tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from .lab import Lab


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    """A lab that leaves no task behind."""
    before = asyncio.all_tasks()
    async with AsyncExitStack() as stack:
        yield Lab(tmp_path, stack)
    for _ in range(3):  # what was closed ends in the next steps of the loop
        await asyncio.sleep(0)
    assert asyncio.all_tasks() - before - {asyncio.current_task()} == set()
