"""Which files of a source are documents, and what is said of the others."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from holodeck_backend_claude.contract import ConfigError
from holodeck_backend_claude.retrieval.documents.formats import UnreadableError, to_text
from holodeck_backend_claude.retrieval.sources import (
    Found,
    Skipped,
    SourceFile,
    find_documents,
    nothing_found,
    read_bytes,
)


def find_files(source: str, base_dir: Path) -> Found:
    return find_documents(source, base_dir, downloads=base_dir / "downloads")


def write(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"Text of {name}.")


def paths(found: Found) -> list[str]:
    return [file.path for file in found.files]


def causes(found: Found) -> dict[str, str]:
    return {skipped.path: skipped.cause for skipped in found.skipped}


def test_a_folder_is_read_with_all_below_it(tmp_path: Path) -> None:
    write(tmp_path, "b.md", "a.txt", "deep/er/C.MD", "deep/d.txt")
    assert paths(find_files(".", tmp_path)) == ["a.txt", "b.md", "deep/d.txt", "deep/er/C.MD"]


def test_a_single_file_is_a_source(tmp_path: Path) -> None:
    write(tmp_path, "one.md", "two.md")
    assert paths(find_files("one.md", tmp_path)) == ["one.md"]


def test_an_absolute_source_needs_no_base(tmp_path: Path) -> None:
    write(tmp_path, "docs/a.md")
    assert paths(find_files(str(tmp_path / "docs"), Path("/nowhere"))) == ["a.md"]


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "docs/a.md")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert paths(find_files("~/docs", Path("/nowhere"))) == ["a.md"]


def test_hidden_and_ignored_names_are_left_out_without_a_word(tmp_path: Path) -> None:
    write(tmp_path, "a.md", ".hidden.md", ".git/b.md", "node_modules/c.md", "d.md~", "e/.f/g.md")
    found = find_files(".", tmp_path)
    assert paths(found) == ["a.md"]
    assert found.skipped == []


def test_other_types_are_reported_as_not_supported_yet(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.odt", "c.PNG", "Makefile")
    assert causes(find_files(".", tmp_path)) == {
        "b.odt": "not supported: .odt",
        "c.PNG": "not supported: .png",
        "Makefile": "not supported: a name without an ending",
    }


def test_a_missing_source_is_an_error_with_the_whole_path(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as failure:
        find_files("docs/missing", tmp_path)
    assert str(tmp_path / "docs/missing") in str(failure.value)
    assert "does not exist" in str(failure.value)
    assert "relative paths start at the folder of agent.yaml" in str(failure.value)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("s3://bucket/docs", r"s3:// is not read here; a plugin can bring a tool type"),
        ("az://container/docs", r"az:// is not read here"),
        ("http://example.com/a.md", r"http:// is taken for this machine only; use https://"),
        ("https:///a.md", r"names no host"),
        ("file://other/a.md", r"a file of another machine \(other\)"),
    ],
)
def test_a_url_that_is_not_read_says_why(source: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=why):
        find_files(source, tmp_path)


def test_a_file_url_is_a_path(tmp_path: Path) -> None:
    write(tmp_path, "a b/c.md")
    assert paths(find_files(f"{(tmp_path / 'a b').as_uri()}", Path("/nowhere"))) == ["c.md"]
    whole = find_files(f"file://localhost{tmp_path}/a%20b/c.md", Path("/nowhere"))
    assert paths(whole) == ["c.md"]


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("*.md", ["a.md", "b.md"]),
        ("**/*.md", ["a.md", "b.md", "deep/c.md", "deep/er/d.md"]),
        ("deep/**", ["c.md", "er/d.md", "er/e.txt"]),
        ("deep/**/e.*", ["er/e.txt"]),
        ("?.md", ["a.md", "b.md"]),
        ("[ac].md", ["a.md"]),
        ("[!a].md", ["b.md"]),
        ("*/*.md", ["deep/c.md"]),
        ("d??p/*/[d-e].*", ["deep/er/d.md", "deep/er/e.txt"]),
        ("*.rst", []),
    ],
)
def test_a_pattern_names_files(pattern: str, wanted: list[str], tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.md", "deep/c.md", "deep/er/d.md", "deep/er/e.txt", ".hidden/f.md")
    assert paths(find_files(pattern, tmp_path)) == wanted


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    write(tmp_path, "[draft].md", "d.md")
    assert paths(find_files("[draft].md", tmp_path)) == ["[draft].md"]


def test_what_gitignore_names_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "draft.md", "out/b.md", "deep/draft.md", "deep/keep.md", "deep/c.md")
    (tmp_path / ".gitignore").write_text("draft.md\nout/\n/deep/c.md\n")
    assert paths(find_files(".", tmp_path)) == ["a.md", "deep/keep.md"]
    (tmp_path / "deep" / ".gitignore").write_text("!draft.md\nkeep.md\n")
    found = find_files(".", tmp_path)
    assert paths(found) == ["a.md", "deep/draft.md"]
    assert found.skipped == []


def test_a_file_that_is_named_itself_is_read_though_it_is_ignored(tmp_path: Path) -> None:
    write(tmp_path, "draft.md")
    (tmp_path / ".gitignore").write_text("*\n")
    assert paths(find_files("draft.md", tmp_path)) == ["draft.md"]


def test_a_source_that_is_no_path_is_an_error_not_a_traceback(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        find_files("a\0b", tmp_path)


class TestLinks:
    def test_a_link_out_of_the_folder_is_not_followed(self, tmp_path: Path) -> None:
        write(tmp_path, "docs/a.md", "secret.md", "other/b.md")
        (tmp_path / "docs/file.md").symlink_to(tmp_path / "secret.md")
        (tmp_path / "docs/folder").symlink_to(tmp_path / "other")
        (tmp_path / "docs/up").symlink_to("../..")
        found = find_files("docs", tmp_path)
        assert paths(found) == ["a.md"]
        assert causes(found) == dict.fromkeys(
            ["file.md", "folder", "up"], "it is a link that leads out of the source folder"
        )

    def test_a_link_to_a_listed_document_does_not_list_it_twice(self, tmp_path: Path) -> None:
        write(tmp_path, "a.md", "sub/b.md")
        (tmp_path / "again.md").symlink_to("a.md")
        (tmp_path / "sub-again").symlink_to("sub")
        found = find_files(".", tmp_path)
        assert paths(found) == ["a.md", "sub/b.md"]
        assert found.skipped == []

    def test_links_into_a_hidden_folder_below_are_followed(self, tmp_path: Path) -> None:
        write(tmp_path, "..2024/a.md", "..2024/b.md")  # how Kubernetes mounts its files
        (tmp_path / "..data").symlink_to("..2024")
        for name in ("a.md", "b.md"):
            (tmp_path / name).symlink_to(f"..data/{name}")
        assert paths(find_files(".", tmp_path)) == ["a.md", "b.md"]

    def test_a_loop_ends(self, tmp_path: Path) -> None:
        write(tmp_path, "a.md", "sub/b.md")
        (tmp_path / "sub/loop").symlink_to("..")
        (tmp_path / "self.md").symlink_to("self.md")
        found = find_files(".", tmp_path)
        assert paths(found) == ["a.md", "sub/b.md"]
        assert "leads nowhere" in causes(found)["self.md"]

    def test_a_dangling_link_is_reported(self, tmp_path: Path) -> None:
        write(tmp_path, "a.md")
        (tmp_path / "gone.md").symlink_to("nothing.md")
        assert causes(find_files(".", tmp_path)) == {
            "gone.md": "it is a link that leads nowhere: it does not exist"
        }

    def test_the_source_itself_may_be_a_link(self, tmp_path: Path) -> None:
        write(tmp_path, "real/a.md")
        (tmp_path / "docs").symlink_to("real")
        assert paths(find_files("docs", tmp_path)) == ["a.md"]


def test_what_is_no_regular_file_is_never_opened(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    os.mkfifo(tmp_path / "pipe.txt")
    found = find_files(".", tmp_path)
    assert paths(found) == ["a.md"]
    assert causes(found) == {"pipe.txt": "it is not a regular file"}


def test_a_folder_that_is_named_like_a_document_is_a_folder(tmp_path: Path) -> None:
    write(tmp_path, "notes.md/a.md")
    assert paths(find_files(".", tmp_path)) == ["notes.md/a.md"]


def test_a_name_that_is_not_utf8_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md")).write_text("text")
    found = find_files(".", tmp_path)
    assert paths(found) == ["a.md"]
    assert causes(found) == {"caf\\xe9.md": "its name is not valid UTF-8; rename it"}


@pytest.fixture
def nobodys() -> Iterator[Path]:
    """A folder as an unprivileged user sees it, also where the tests run as root."""
    folder = Path(tempfile.mkdtemp())
    if os.geteuid() != 0:
        yield folder
    else:
        folder.chmod(0o777)
        os.seteuid(65_534)
        try:
            yield folder
        finally:
            os.seteuid(0)
    for path in folder.rglob("*"):
        path.chmod(0o700)
    shutil.rmtree(folder)


def test_what_may_not_be_read_is_reported_and_stops_nothing(nobodys: Path) -> None:
    write(nobodys, "a.md", "locked.md", "closed/b.md")
    (nobodys / "locked.md").chmod(0)
    (nobodys / "closed").chmod(0)
    found = find_files(".", nobodys)
    assert paths(found) == ["a.md", "locked.md"]
    assert causes(found) == {"closed": "it cannot be read (permission denied)"}
    with pytest.raises(UnreadableError, match="permission denied"):
        read_bytes(found.files[1])


def test_a_file_that_vanished_meanwhile_is_unreadable(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    found = find_files(".", tmp_path)
    (tmp_path / "a.md").unlink()
    with pytest.raises(UnreadableError, match="it does not exist"):
        read_bytes(found.files[0])


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="larger than 16 MiB"):
        read_bytes(SourceFile("a.md", tmp_path / "a.md", 17 * 1024 * 1024, 0, 0))


def test_a_file_that_grew_since_it_was_found_is_read_no_further_than_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holodeck_backend_claude.retrieval.sources.reading.LARGEST_FILE", 10)
    write(tmp_path, "a.md")
    found = find_files(".", tmp_path)
    (tmp_path / "a.md").write_bytes(b"x" * 11)
    with pytest.raises(UnreadableError, match="it is larger than"):
        read_bytes(found.files[0])


def test_a_file_that_became_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    found = find_files(".", tmp_path)
    (tmp_path / "a.md").unlink()
    os.mkfifo(tmp_path / "a.md")
    with pytest.raises(UnreadableError, match="not a regular file"):
        read_bytes(found.files[0])


@pytest.mark.parametrize("data", [b"", b" \n\t\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_unreadable(data: bytes) -> None:
    with pytest.raises(UnreadableError, match=r"^it is empty$"):
        to_text("a.txt", data)


def test_an_empty_folder_is_explained(tmp_path: Path) -> None:
    told = nothing_found(find_files(".", tmp_path), [])
    assert told.startswith(f"nothing to index in {tmp_path}: it holds no documents (.md, ")


def test_a_folder_of_other_things_is_explained(tmp_path: Path) -> None:
    write(tmp_path, "a.odt", "b.odt", "c.png")
    found = find_files(".", tmp_path)
    told = nothing_found(found, [*found.skipped, Skipped("d.md", "it is empty")])
    assert "2 x not supported: .odt; 1 x not supported: .png; d.md: it is empty" in told
