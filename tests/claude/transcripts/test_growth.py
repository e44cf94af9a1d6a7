"""Whether a transcript has got a message since."""

from __future__ import annotations

from pathlib import Path

import pytest

from holodeck_backend_claude.claude.transcripts.growth import TranscriptEnd

SESSION = "0b3f6e0e-3b0c-4d54-9d5f-6b2a6a0b8a11"
MESSAGE = '{"type":"user","message":{}}\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "projects" / "-work" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    return path


@pytest.mark.parametrize("before", [None, "", MESSAGE])
@pytest.mark.parametrize(
    ("written", "has_message"),
    [
        ("", False),
        (MESSAGE, True),
        ('{"type":"queue-operation"}\n' + MESSAGE + '{"type":"x"}\n', True),
        ('{"type":"queue-operation"}\n', False),
        ('{"type":"assistant"}\n', False),
        (MESSAGE.rstrip("\n"), False),
        ('{"type":"us\n[1]\n', False),
    ],
)
def test_only_a_whole_message_that_came_after_counts(
    path: Path, before: str | None, written: str, has_message: bool
) -> None:
    if before is not None:
        path.write_text(before)
    end = TranscriptEnd(path.parents[2], SESSION)
    with path.open("a") as transcript:
        transcript.write(written)
    assert end.has_message_after() == has_message


def test_where_there_is_no_transcript_there_is_no_message(tmp_path: Path) -> None:
    assert not TranscriptEnd(tmp_path, SESSION).has_message_after()


def test_where_the_transcript_cannot_be_read_the_message_counts_as_written(path: Path) -> None:
    end = TranscriptEnd(path.parents[2], SESSION)
    path.mkdir()
    assert end.has_message_after()
