"""``response_format:`` inline or in a file, checked when the agent file is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holodeck_backend_claude.config import AgentFileError, read_agent
from holodeck_backend_claude.contract import ConfigError
from holodeck_backend_claude.plugins import load_plugins

HEAD = """name: a
model: {provider: anthropic, name: claude-sonnet-4-5}
instructions: Answer.
"""
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def read(folder: Path, text: str) -> object:
    (folder / "agent.yaml").write_text(HEAD + text, encoding="utf-8")
    return read_agent(folder, load_plugins().registry, environ={}).agent.response_schema()


def test_an_inline_schema(tmp_path: Path) -> None:
    text = "response_format:\n  type: object\n  properties:\n    city: {type: string}\n"
    assert read(tmp_path, text + "  required: [city]\n") == SCHEMA


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("form.json", json.dumps(SCHEMA, indent="\t")),
        ("form.yaml", "type: object\nproperties:\n  city: {type: string}\nrequired: [city]\n"),
        ("forms/form.yml", "{type: object, properties: {city: {type: string}}, required: [city]}"),
    ],
)
def test_a_schema_in_a_file(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert read(tmp_path, f"response_format: {name}\n") == SCHEMA


def test_no_response_format_leaves_the_answer_free(tmp_path: Path) -> None:
    assert read(tmp_path, "response_format:\n") is None


def test_a_wrong_part_is_named_with_its_line(tmp_path: Path) -> None:
    text = "response_format:\n  type: object\n  properties:\n    city:\n      type: text\n"
    with pytest.raises(AgentFileError) as caught:
        read(tmp_path, text)
    [problem] = caught.value.problems
    assert (problem.line, problem.path) == (8, "response_format.properties.city.type")
    assert "'text' is no type of JSON Schema; did you mean 'string'?" in problem.message


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("form.json", "{", "form.json is not JSON"),
        ("form.yaml", "type: [", "form.yaml: "),
        ("form.txt", "{}", "a .json or a .yaml file"),
        ("form.json", "[1]", "form.json: the response format is wrong at $: it has to be a map"),
        ("form.json", '{"type": "array"}', "form.json: the response format is wrong at $.type"),
        ("form.json", None, "there is no file 'form.json'"),
        ("../form.json", "{}", "is outside the agent's folder"),
    ],
)
def test_a_wrong_file_is_named_with_the_line_that_names_it(
    tmp_path: Path, name: str, content: str | None, words: str
) -> None:
    folder = tmp_path / "agent"
    folder.mkdir()
    if content is not None:
        (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(AgentFileError) as caught:
        read(folder, f"response_format: {name}\n")
    problem = caught.value.problems[0]
    assert problem.line == 4
    assert words in problem.message


def test_a_schema_file_that_changed_since_is_checked_again(tmp_path: Path) -> None:
    (tmp_path / "form.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "agent.yaml").write_text(HEAD + "response_format: form.json\n")
    agent = read_agent(tmp_path, load_plugins().registry, environ={}).agent
    (tmp_path / "form.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"form\.json"):
        agent.response_schema()
