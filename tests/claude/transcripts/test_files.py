"""A transcript after its process was killed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holodeck_backend_claude.claude.transcripts import files
from holodeck_backend_claude.claude.transcripts.files import entries_of, mended_after_crash

SESSION = "0b3f6e0e-3b0c-4d54-9d5f-6b2a6a0b8a11"
SPOKEN = json.dumps({"type": "user", "text": "Hi"}) + "\n"
OTHER = json.dumps({"type": "mode"}) + "\n"


def write(config: Path, text: str) -> Path:
    path = config / "projects" / "-work" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_where_there_is_no_transcript_nothing_is_resumed(tmp_path: Path) -> None:
    assert mended_after_crash(tmp_path, SESSION) is None


@pytest.mark.parametrize("text", ["", OTHER, OTHER + SPOKEN.rstrip("\n"), SPOKEN.rstrip("\n")])
def test_where_nobody_spoke_to_the_end_of_a_line_the_file_is_removed(
    tmp_path: Path, text: str
) -> None:
    path = write(tmp_path, text)
    assert mended_after_crash(tmp_path, SESSION) is None
    assert not path.exists()


@pytest.mark.parametrize("broken", ["", '{"type": "assis', "x" * 10, "é" * 9])
@pytest.mark.parametrize("block", [1, 2, 7, 65_536])
def test_a_broken_last_line_is_cut_off_and_the_rest_stays_as_it_is(
    tmp_path: Path, broken: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_BLOCK", block)
    path = write(tmp_path, OTHER + SPOKEN + OTHER + broken)
    assert mended_after_crash(tmp_path, SESSION) == path
    assert path.read_text() == OTHER + SPOKEN + OTHER
    assert [entry["type"] for entry in entries_of(path)] == ["mode", "user", "mode"]


def test_lines_that_are_no_entries_are_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, "[1]\nnot json\n" + '{"type": 5}\n' + SPOKEN)
    assert mended_after_crash(tmp_path, SESSION) == path
    assert [entry["type"] for entry in entries_of(path)] == ["user"]
