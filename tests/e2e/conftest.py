"""Fixtures of the end-to-end tests."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from .lab import Lab, nothing_left


@pytest.fixture
async def lab(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Lab]:
    folders = tmp_path_factory.mktemp("private-folders")
    monkeypatch.setattr(tempfile, "tempdir", str(folders))
    async with nothing_left(folders), AsyncExitStack() as stack:
        yield Lab(tmp_path, stack)
