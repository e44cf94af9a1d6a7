"""What the search for planted secrets is given."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from holodeck_backend_claude.redaction import known
from tests.e2e.lab import Lab, nothing_left

from .plants import Plants


@pytest.fixture
def plants() -> Plants:
    return Plants()


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """No secret that another test told of, and no credential of the machine."""
    monkeypatch.setattr(known, "_remembered", set())
    for name in tuple(os.environ):
        if name.startswith(("ANTHROPIC_", "CLAUDE_", "AWS_", "AZURE_", "OTEL_")):
            monkeypatch.delenv(name)


@pytest.fixture
def private_folders(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    folder = tmp_path_factory.mktemp("private-folders")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
async def lab(tmp_path: Path, private_folders: Path) -> AsyncIterator[Lab]:
    async with nothing_left(private_folders), AsyncExitStack() as stack:
        yield Lab(tmp_path, stack)
