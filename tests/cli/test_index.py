"""``holodeck-claude index``: the indexes of search tools, brought up to date and followed."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.cli import main

AGENT = """\
name: librarian
model: {provider: anthropic, name: claude-sonnet-4-5}
instructions: Search.
tools:
  - {name: docs, type: vectorstore, description: Documents, source: docs}
  - {name: laws, type: hierarchical_document, description: Laws, source: laws}
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """An agent with two tools that keep an index."""
    folder = tmp_path / "agent"
    for name in ("docs", "laws"):
        (folder / name).mkdir(parents=True)
        (folder / name / "a.md").write_text(f"# A\n\nThe first of the {name}.\n")
    (folder / "agent.yaml").write_text(AGENT)
    return folder


def index(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, list[Any]]:
    code = main(["index", *map(str, arguments), "--json"])
    return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_each_tool_has_a_line_and_a_second_run_finds_nothing_to_do(
    library: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["index", str(library)]) == 0
    line = "1 files, 1 passages, 1 with vectors; 1 files changed, 0 removed"
    assert capsys.readouterr().out.splitlines() == [f"docs: {line}", f"laws: {line}"]
    code, again = index(capsys, library)
    assert code == 0
    assert [(each["tool"], each["changed"], each["embedded"]) for each in again] == [
        ("docs", 0, 1),
        ("laws", 0, 1),
    ]


def test_a_file_that_is_left_out_is_named_with_its_cause_and_stops_nothing(
    library: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (library / "docs" / "b.md").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    code, [docs, laws] = index(capsys, library)
    assert code == 0
    [skipped] = docs["skipped"]
    assert skipped["path"] == "b.md"
    assert "PNG" in skipped["cause"]
    assert (docs["files"], laws["files"]) == (1, 1)
    assert main(["index", str(library), "--tool", "docs"]) == 0
    captured = capsys.readouterr()
    assert f"  not indexed: b.md: {skipped['cause']}" in captured.out.splitlines()
    assert captured.err == ""


def test_force_makes_everything_anew(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index(capsys, library)
    database = library / ".holodeck" / "tools" / "librarian" / "docs" / "index.db"
    before = vectors_in(database)
    code, [docs] = index(capsys, library, "--force", "--tool", "docs")
    assert code == 0
    assert (docs["changed"], docs["embedded"]) == (1, 1)
    assert vectors_in(database).isdisjoint(before)


def vectors_in(database: Path) -> set[tuple[int, int]]:
    """The rows of the vectors, with the row of the chunk that each is of."""
    import sqlite3

    connection = sqlite3.connect(database)
    try:
        return set(
            connection.execute(
                "SELECT v.id, c.id FROM vectors v JOIN chunks c ON c.text_hash = v.text_hash"
            )
        )
    finally:
        connection.close()


def test_a_tool_that_cannot_be_indexed_does_not_stop_the_others(
    library: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (library / "docs" / "a.md").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    code, [docs, laws] = index(capsys, library)
    assert code == 1
    assert "a.md" in docs["error"]
    assert "files" not in docs
    assert laws["error"] is None
    assert laws["files"] == 1


def test_vectors_that_cannot_be_made_are_no_success(
    library: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (library / "agent.yaml").read_text()
    provider = "{provider: openai, endpoint: 'http://127.0.0.1:9', api_key: sk-secret-key-of-ours}"
    (library / "agent.yaml").write_text(f"{text}embedding_provider: {provider}\n")
    assert main(["index", str(library), "--tool", "docs"]) == 1
    captured = capsys.readouterr()
    assert "  found by keyword only: a.md: embedding failed: openai" in captured.out
    assert "sk-secret-key-of-ours" not in captured.out + captured.err


def test_an_unknown_tool_is_told_with_those_that_there_are(
    library: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["index", str(library), "--tool", "doc"]) == 2
    assert "no tool 'doc' of this agent keeps an index; those that do: docs, laws" in (
        capsys.readouterr().err
    )


def test_an_agent_without_an_index_is_told(
    library: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (library / "agent.yaml").write_text(AGENT.split("tools:", maxsplit=1)[0])
    assert main(["index", str(library)]) == 2
    assert "no tool of this agent keeps an index" in capsys.readouterr().err


def test_watch_follows_the_documents_until_a_signal(
    library: Path, program: Callable[..., subprocess.Popen[bytes]]
) -> None:
    process = program("index", library, "--tool", "docs", "--watch", "--json")
    assert process.stdout is not None

    def next_line() -> dict[str, Any]:
        assert process.stdout is not None
        found: dict[str, Any] = json.loads(process.stdout.readline())
        return found

    assert next_line()["files"] == 1
    (library / "docs" / "b.md").write_text("A second one.\n")
    added = next_line()
    assert (added["files"], added["changed"], added["embedded"]) == (2, 1, 2)
    (library / "docs" / "a.md").unlink()
    assert (found := next_line())["removed"] == 1, found
    (library / "docs").rename(library / "elsewhere")
    assert "docs" in next_line()["error"]
    (library / "elsewhere").rename(library / "docs")
    assert next_line()["error"] is None
    process.send_signal(signal.SIGTERM)
    _out, err = process.communicate(timeout=20)
    assert process.returncode == 143
    assert b"Traceback" not in err
