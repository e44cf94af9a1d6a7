"""Reading an agent file: what is read, where it stands, and what is refused in plain words."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from holodeck_backend_claude.config.problems import AgentFileError, Findings, Mark, Problem
from holodeck_backend_claude.config.yaml.nodes import Node
from holodeck_backend_claude.config.yaml.parser import MAX_DEPTH, UnreadableError, parse
from holodeck_backend_claude.config.yaml.source import MAX_BYTES, Source, read_source

LOADERS = [
    pytest.param(yaml.SafeLoader, id="python"),
    pytest.param(getattr(yaml, "CSafeLoader", yaml.SafeLoader), id="c"),
]


def source_of(tmp_path: Path, text: str | bytes) -> Source:
    file = tmp_path / "agent.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_source(file)


def refusal(tmp_path: Path, text: str | bytes) -> Problem:
    with pytest.raises(AgentFileError) as caught:
        source_of(tmp_path, text).findings.raise_errors()
    (problem,) = caught.value.problems
    return problem


def plain(node: Node) -> Any:
    if isinstance(node.value, dict):
        return {key: plain(child) for key, child in node.value.items()}
    if isinstance(node.value, list):
        return [plain(child) for child in node.value]
    return node.value


def read(text: str, loader: Any = yaml.SafeLoader) -> Any:
    findings = Findings("agent.yaml")
    root = parse(text, findings, loader)
    findings.raise_errors()
    assert root is not None
    return plain(root)


class TestValues:
    @pytest.mark.parametrize("loader", LOADERS)
    @pytest.mark.parametrize(
        "text",
        [
            "a: 1\nb: [true, no, ~, 1.5, .inf, 0x1f, 1_000, -3]\n",
            "a: 'quoted 1'\nb: \"x\\ty\"\nc: |\n  several\n  lines\nd: >-\n  folded\n  text\n",
            "a: {b: [], c: {}}\nd:\n",
            "a: &x {b: 1, c: [2]}\nd: *x\ne: [*x, *x]\n",
            "base: &b {x: 1, y: 2}\nall:\n  <<: *b\n  y: 3\n",
            "l: &l {x: 1}\nr: &r {x: 2, z: 3}\nall:\n  <<: [*l, *r]\n  q: 1\n",
            "a: !!str 5\nb: !!int '5'\nc: ! plain\n",
            "a: ünïcode ✓ 🎉\n",
            "%YAML 1.1\n---\na: 1\n...\n",
        ],
    )
    def test_are_those_of_the_safe_loader(self, text: str, loader: Any) -> None:
        assert read(text, loader) == yaml.safe_load(text)

    def test_dates_stay_text(self) -> None:
        assert read("api_version: 2024-10-21\n") == {"api_version": "2024-10-21"}

    def test_keys_are_the_text_they_are(self) -> None:
        assert read("on: 1\nyes: 2\n1: 3\n~: 4\n'no': 5\n") == {
            "on": 1,
            "yes": 2,
            "1": 3,
            "~": 4,
            "no": 5,
        }

    def test_a_key_can_be_an_alias_of_text(self) -> None:
        assert read("a: &k name\n*k : 1\n") == {"a": "name", "name": 1}
        assert read("&k name: 1\nb: *k\n") == {"name": 1, "b": "name"}

    def test_a_byte_order_mark_is_accepted(self, tmp_path: Path) -> None:
        source = source_of(tmp_path, b"\xef\xbb\xbfname: x\n")
        assert plain(source.root) == {"name": "x"}
        assert source.root.keys["name"] == Mark(1, 1)

    def test_a_folder_stands_for_its_agent_file(self, tmp_path: Path) -> None:
        source_of(tmp_path, "name: x\n")
        source = read_source(str(tmp_path))
        assert source.path == tmp_path / "agent.yaml"
        assert source.base_dir == tmp_path.resolve()


class TestPlaces:
    TEXT = "name: x\nmodel:\n  provider: p\ntools:\n  - type: t\n    name: é ü\n    more: [a, bb]\n"

    @pytest.mark.parametrize(
        ("path", "key", "value"),
        [
            (("name",), (1, 1), (1, 7)),
            (("model",), (2, 1), (3, 3)),
            (("model", "provider"), (3, 3), (3, 13)),
            (("tools", 0), (5, 5), (5, 5)),
            (("tools", 0, "name"), (6, 5), (6, 11)),
            (("tools", 0, "more", 1), (7, 15), (7, 15)),
            (("model", "absent", "below"), (2, 1), (3, 3)),
            (("tools", 7), (4, 1), (5, 3)),
        ],
    )
    def test_are_known_by_path(self, tmp_path: Path, path: Any, key: Any, value: Any) -> None:
        root = source_of(tmp_path, self.TEXT).root
        assert root.place(path, key=True) == Mark(*key)
        assert root.place(path) == Mark(*value)

    def test_a_value_used_twice_stands_where_it_is_used(self, tmp_path: Path) -> None:
        root = source_of(tmp_path, "a: &x 1\nb: *x\n").root
        assert root.place(("b",)) == Mark(2, 4)


class TestDuplicates:
    def test_a_duplicate_key_is_an_error_that_names_both_lines(self, tmp_path: Path) -> None:
        problem = refusal(tmp_path, "model:\n  name: a\n  provider: p\n  name: b\n")
        assert (problem.line, problem.column, problem.path) == (4, 3, "model.name")
        assert "in line 2" in problem.message

    def test_all_duplicates_are_reported(self, tmp_path: Path) -> None:
        source = source_of(tmp_path, "a: 1\nb: 1\na: 2\nb: 2\nc: {d: 1, d: 2}\n")
        assert [e.path for e in source.findings.errors] == ["a", "b", "c.d"]

    def test_overriding_a_merged_key_is_no_duplicate(self) -> None:
        assert read("b: &b {x: 1}\nc:\n  <<: *b\n  x: 2\n")["c"] == {"x": 2}


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join(['*' + old] * 10)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


class TestRefusals:
    @pytest.mark.parametrize("loader", LOADERS)
    @pytest.mark.parametrize(
        ("text", "line", "words"),
        [
            ("a:\n\tb: 1\n", 2, "tab"),
            ("a: b\n\tc: 1\n", 2, "tab"),
            ("a: @x\n", 1, "'@'"),
            ("a: `x`\n", 1, "'`'"),
            ("a: b: c\n", 1, "second ':'"),
            ("a: 1\nb\nc: 2\n", 3, "line 2"),
            ("a:\n  b: 1\n c: 2\n", 3, "fits no mapping"),
            ("a: 'x\nb: 2\n", 3, "opens in line 1"),
            ("a: 1\nb: [1, 2\nc: 3\n", 3, "opens in line 2 is not closed"),
            ("a: - b\n", 1, "list item"),
            ('a: "\\q"\n', 1, "escape"),
            ("a: *foo\n", 1, "'&foo'"),
            ("a: 1\n---\nb: 2\n", 2, "second YAML document"),
            ("a: &x [1, *x]\n", 1, "contains itself"),
            ("a: &x {b: {c: *x}}\n", 1, "contains itself"),
            ("name: {{ name }}\n", 1, "where a key is expected"),
            ("'': 1\n", 1, "key is empty"),
            ("a: 1\n<<: 5\n", 2, "'<<' takes"),
            ("a: &x [1]\n*x : 2\n", 2, "not text"),
            ("%YAML 3.0\n---\na: 1\n", 1, "not YAML"),
            ("a: !e!x y\n", 1, "tag"),
        ],
    )
    def test_malformed_yaml(self, text: str, line: int, words: str, loader: Any) -> None:
        with pytest.raises(UnreadableError) as caught:
            parse(text, Findings("agent.yaml"), loader)
        assert words in caught.value.message
        assert caught.value.mark
        assert abs(caught.value.mark.line - line) <= 1  # the two parsers differ by a line

    @pytest.mark.parametrize(
        "text",
        [
            "a: !!python/object:os.system x\n",
            "a: !!python/name:os.system\n",
            "a: !secret x\n",
            "a: !!binary aGk=\n",
            "a: !!set {x}\n",
            "a: !!map [1]\n",
            "a: !include [x]\n",
        ],
    )
    def test_tags_of_other_programs(self, tmp_path: Path, text: str) -> None:
        problem = refusal(tmp_path, text)
        assert "tag" in problem.message
        assert (problem.line, problem.path) == (1, "a")

    @pytest.mark.parametrize("text", ["a: !!int x\n", "a: !!bool x\n", "a: " + "9" * 5000 + "\n"])
    def test_scalars_that_are_not_what_they_claim(self, tmp_path: Path, text: str) -> None:
        assert "cannot be read as" in refusal(tmp_path, text).message

    @pytest.mark.parametrize("loader", LOADERS)
    @pytest.mark.parametrize(
        "text",
        ["a: " + "[" * 100_000, "a: " + "{x: " * 100_000, "- " * 100_000, "? " * 100_000],
        ids=["lists", "mappings", "block", "keys"],
    )
    def test_nesting_without_end(self, text: str, loader: Any) -> None:
        with pytest.raises(UnreadableError):
            parse(text, Findings("agent.yaml"), loader)

    def test_nesting_up_to_the_limit_is_read(self) -> None:
        depth = MAX_DEPTH - 1
        assert read("a: " + "[" * depth + "]" * depth)

    def test_aliases_that_multiply(self, tmp_path: Path) -> None:
        assert "aliases" in refusal(tmp_path, BOMB).message

    def test_merge_keys_that_multiply(self, tmp_path: Path) -> None:
        text = "a: &a {x: [" + "1, " * 100 + "]}\n"
        for old, new in zip("abcdefgh", "bcdefghi", strict=True):
            items = "".join(f"  k{n}: {{<<: *{old}}}\n" for n in range(10))
            text += f"{new}: &{new}\n{items}"
        assert "aliases" in refusal(tmp_path, text).message

    def test_a_file_of_millions_of_values(self, tmp_path: Path) -> None:
        assert "values" in refusal(tmp_path, "a:\n" + "- a\n" * 2_000_000).message

    def test_a_file_over_the_size_limit(self, tmp_path: Path) -> None:
        assert "larger than 10 MB" in refusal(tmp_path, b"a: " + b"x" * MAX_BYTES).message

    def test_a_file_that_is_not_utf8(self, tmp_path: Path) -> None:
        problem = refusal(tmp_path, "name: ok\nmodel: schön\n".encode("latin-1"))
        assert (problem.line, problem.column) == (2, 11)
        assert "UTF-8" in problem.message

    def test_utf16_and_binary_files(self, tmp_path: Path) -> None:
        assert "UTF-8" in refusal(tmp_path, "name: x\n".encode("utf-16")).message
        assert "not allowed" in refusal(tmp_path, b"\x7fELF\x02\x01\x00").message

    def test_a_nul_byte(self, tmp_path: Path) -> None:
        problem = refusal(tmp_path, b"name: x\nmodel: a\x00b\n")
        assert "U+0000" in problem.message
        assert (problem.line, problem.column) == (2, 9)

    @pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n"])
    def test_an_empty_file(self, tmp_path: Path, text: str) -> None:
        assert "empty" in refusal(tmp_path, text).message

    @pytest.mark.parametrize(
        ("text", "words"), [("- a\n- b\n", "a list"), ("just text\n", "text"), ("5\n", "a number")]
    )
    def test_a_root_that_is_no_mapping(self, tmp_path: Path, text: str, words: str) -> None:
        assert f"not {words}" in refusal(tmp_path, text).message

    def test_a_malformed_line_is_not_quoted_as_it_may_hold_a_key(self, tmp_path: Path) -> None:
        problem = refusal(tmp_path, "model:\n  api_key sk-very-secret\n  name: x\n")
        assert "sk-very-secret" not in str(problem)


class TestFiles:
    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(AgentFileError) as caught:
            read_source(tmp_path / "nope.yaml")
        assert "no such file" in str(caught.value)
        assert "nope.yaml" in str(caught.value)

    def test_a_folder_without_an_agent_file(self, tmp_path: Path) -> None:
        with pytest.raises(AgentFileError) as caught:
            read_source(tmp_path)
        assert "agent.yaml" in str(caught.value)

    def test_a_pipe_is_refused_and_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "agent.yaml")
        with pytest.raises(AgentFileError, match="regular file"):
            read_source(tmp_path / "agent.yaml")

    @pytest.mark.parametrize("path", ["a\0b", "x" * 5000])
    def test_a_path_that_cannot_be(self, path: str) -> None:
        with pytest.raises(AgentFileError):
            read_source(path)
