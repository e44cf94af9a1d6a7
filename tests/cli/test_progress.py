"""The line of progress: shown on a terminal, gone at the end."""

from __future__ import annotations

import pytest

from holodeck_backend_claude.cli.progress import progress_line


def test_what_is_told_after_the_end_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress_line() as show:
        assert show is not None
        show("embedding", 12, 24)
    assert "[############            ] 12/24 embedding" in capsys.readouterr().err
    show("embedding", 13, 24)
    assert capsys.readouterr().err == ""
