"""Where the file tools may reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from holodeck_backend_claude.claude.permissions.paths import PathRefusedError, WorkingDirectory


@pytest.fixture
def folder(tmp_path: Path) -> WorkingDirectory:
    root = tmp_path / ".holodeck" / "work"  # what is above the folder does not count
    (root / "sub").mkdir(parents=True)
    (root / "file.txt").write_text("x")
    (root / ".env").write_text("x")
    (root / "link").symlink_to(root / "file.txt")
    (root / "out").symlink_to(tmp_path)
    (root / "nowhere").symlink_to(tmp_path / "missing")
    (root / "hidden").symlink_to(root / ".env")
    return WorkingDirectory(root)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("file.txt", "file.txt"),
        ("./sub/../file.txt", "file.txt"),
        ("link", "file.txt"),
        ("sub/new.txt", "sub/new.txt"),
        ("sub", "sub"),
        (".", "."),
        ("environment.env", "environment.env"),
        ("...", "..."),
    ],
)
def test_a_path_inside_is_resolved(folder: WorkingDirectory, path: str, found: str) -> None:
    for base in (None, str(folder.root)):
        assert folder.resolved(path, base) == (folder.root / found).resolve()
    assert folder.resolved(str(folder.root / path)) == (folder.root / found).resolve()


@pytest.mark.parametrize(
    "path",
    [
        "..", "../x", "sub/../../x", "/etc/passwd", "/", "out", "out/x", "nowhere", "~", "~/x",
        " ~root/x", ".env", ".ENV", "sub/.env.local", ".env/x", "hidden", ".holodeck",
        "sub/.holodeck/index", "", " ", "a\0b", None, 3, ["x"], "sub/../.env",
    ],
)  # fmt: skip
def test_a_path_outside_or_private_is_refused(folder: WorkingDirectory, path: object) -> None:
    with pytest.raises(PathRefusedError):
        folder.resolved(path)


def test_relative_paths_start_where_the_shell_is(folder: WorkingDirectory) -> None:
    assert folder.resolved("x", str(folder.root / "sub")) == folder.root / "sub" / "x"
    with pytest.raises(PathRefusedError):
        folder.resolved("x", "/etc")


@pytest.mark.parametrize(
    "pattern", ["*", "**/*.py", "sub/*", "a..b", "...", "{a,b}/*", "*.{ts,js}"]
)
def test_a_pattern_inside_is_taken(folder: WorkingDirectory, pattern: str) -> None:
    folder.check_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "/etc/*",
        "../*",
        "sub/../../*",
        "{..,sub}/*",
        "{a,..}",
        "~/*",
        " /x",
        "x\0",
        None,
        "a/..",
        "\\/etc",
    ],
)
def test_a_pattern_that_leaves_is_refused(folder: WorkingDirectory, pattern: object) -> None:
    with pytest.raises(PathRefusedError):
        folder.check_pattern(pattern)
