"""What the tests of faults are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.lab import Place


@pytest.fixture
def place(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> Place:
    """The folders and tools of one test."""
    return Place(tmp_path, tmp_path_factory.mktemp("private"), monkeypatch, caplog)
