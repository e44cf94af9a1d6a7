"""The .env file beside an agent file."""

from __future__ import annotations

from pathlib import Path

import pytest

from holodeck_backend_claude.config.dotenv import read_dotenv


def variables(tmp_path: Path, text: str | bytes) -> dict[str, str]:
    (tmp_path / ".env").write_bytes(text if isinstance(text, bytes) else text.encode())
    values, findings = read_dotenv(tmp_path)
    assert not findings.errors
    assert not findings.notices
    return values


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("A = b ", "b"),
        ("export A=b", "b"),
        ("A=", ""),
        ("A= # only a comment", ""),
        ("A=b # a comment", "b"),
        ("A=b#c", "b#c"),
        ("A=#fff", "#fff"),
        ("A=b=c", "b=c"),
        ("A=two words", "two words"),
        ("A='b # c'  # a comment", "b # c"),
        ("A='it is $X \\n'", "it is $X \\n"),
        ('A="b\\n\\"c\\" \\d"', 'b\n"c" \\d'),
        ('A="several\nlines"', "several\nlines"),
        ("A=postgres://u:p@h/db?x='1'", "postgres://u:p@h/db?x='1'"),
        ("A=ü✓", "ü✓"),
    ],
)
def test_values_are_read_as_written(tmp_path: Path, line: str, value: str) -> None:
    assert variables(tmp_path, f"# first\n\n{line}\nZ=last\n") == {"A": value, "Z": "last"}
    assert variables(tmp_path, line) == {"A": value}


def test_windows_line_ends_and_a_byte_order_mark_are_accepted(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbfA=1\r\nB='2'\r\nC=\"x\r\ny\"\r\n"
    assert variables(tmp_path, text) == {"A": "1", "B": "2", "C": "x\ny"}


def test_the_last_of_two_counts(tmp_path: Path) -> None:
    assert variables(tmp_path, "A=1\nA=2\n") == {"A": "2"}


def test_a_line_that_is_no_assignment_is_named_but_not_quoted(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text('A="x\ny"\nsk-secret-key\nB="open\nC=3\n')
    values, findings = read_dotenv(tmp_path)
    assert values == {"A": "x\ny", "C": "3"}
    assert [notice.line for notice in findings.notices] == [3, 4]
    assert "sk-secret" not in "".join(str(notice) for notice in findings.notices)


@pytest.mark.parametrize("line", ["sk-secret-key", "two words=x", "=x", "A='x' y"])
def test_the_line_that_is_no_assignment_is_counted_from_the_top(tmp_path: Path, line: str) -> None:
    (tmp_path / ".env").write_text(f"A=1\n\n# comment\n\n{line}\n\nB=2\n")
    values, findings = read_dotenv(tmp_path)
    assert values == {"A": "1", "B": "2"}
    assert [notice.line for notice in findings.notices] == [5]


def test_a_variable_in_a_value_stays_as_it_is_written(tmp_path: Path) -> None:
    assert variables(tmp_path, "A=1\nB=${A} $A\n") == {"A": "1", "B": "${A} $A"}


def test_no_file_is_no_variables(tmp_path: Path) -> None:
    values, findings = read_dotenv(tmp_path)
    assert values == {}
    assert not findings.errors


@pytest.mark.parametrize("data", [b"A=\xff\n", b"A=" + b"x" * 1_000_001])
def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / ".env").write_bytes(data)
    assert read_dotenv(tmp_path)[1].errors


def test_a_folder_named_dotenv_is_no_file(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    assert read_dotenv(tmp_path)[0] == {}
