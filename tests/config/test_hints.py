"""What a problem says to do: an example to copy, and the word that is meant."""

from __future__ import annotations

from typing import Any

import pytest

from holodeck_backend_claude.plugins import load_plugins

HEAD = "name: helper\nmodel: {provider: anthropic, name: m}\ninstructions: Be kind.\n"
SERVER = "tools: [{type: mcp, name: s, description: d, command: sh, %s}]\n"


@pytest.fixture
def ours(bench: Any) -> Any:
    bench.registry = load_plugins().registry
    return bench


@pytest.mark.parametrize(
    ("text", "path", "hint"),
    [
        ("model: large", "model", "such as 'model: {provider: …, name: …}'; the keys it may have"),
        ("claude: {sessions: sqlite}", "claude.sessions", "such as 'sessions: {store: sqlite}'"),
        ("claude: {sessions: postgres}", "claude.sessions", "'sessions: {store: postgres}'"),
        ("claude: {sessions: yes}", "claude.sessions", "'sessions: {store: sqlite}'"),
        ("claude: {bash: true}", "claude.bash", "such as 'bash: {enabled: true}'"),
        ("claude: {web_search: 1}", "claude.web_search", "write 'web_search: true' or"),
        ("claude: {max_turns: true}", "claude.max_turns", "give a number, or remove the key"),
        (SERVER % "args: server.py", "tools[0].args", "on a line of its own; or write [server.py]"),
    ],
)
def test_a_value_of_the_wrong_kind_gets_an_example(
    ours: Any, text: str, path: str, hint: str
) -> None:
    key = text.partition(":")[0]
    kept = [line for line in HEAD.splitlines(keepends=True) if not line.startswith(f"{key}:")]
    problem = ours.problem("".join([*kept, text]))
    assert problem.path == path
    assert hint in problem.hint


def test_the_keys_that_may_stand_beside_the_required_ones_are_listed(ours: Any) -> None:
    problem = ours.problem("name: helper\nmodel: large\ninstructions: Be kind.\n")
    assert problem.hint.endswith(
        "api_key, api_version, auth_provider, endpoint, max_tokens, name, provider, temperature, "
        "top_p"
    )


def test_missing_keys_get_an_example(ours: Any) -> None:
    problems = ours.problems("name: helper\n")
    assert {problem.path: problem.hint for problem in problems} == {
        "model": "such as 'model: {provider: …, name: …}'",
        "instructions": "such as 'instructions: Answer in one sentence.'",
    }


@pytest.mark.parametrize(
    ("mode", "meant"),
    [
        ("default", "'manual' asks"),
        ("plan", "no mode that only plans"),
        ("dontAsk", "'manual' denies"),
        ("bypassPermissions", "'acceptAll'"),
    ],
)
def test_modes_of_claude_code_lead_to_those_of_this_file(ours: Any, mode: str, meant: str) -> None:
    problem = ours.problem(f"{HEAD}claude:\n  max_turns: 3\n  permission_mode: {mode}\n")
    assert (problem.path, problem.line) == ("claude.permission_mode", 6)
    assert f"'{mode}' is a mode of Claude Code" in problem.message
    assert meant in problem.message
    assert "manual, acceptEdits, acceptAll" in problem.message


def test_what_a_mode_needs_is_told_where_the_mode_stands(ours: Any) -> None:
    problem = ours.problem(f"{HEAD}claude:\n  max_turns: 3\n  permission_mode: acceptAll\n")
    assert (problem.path, problem.line, problem.column) == ("claude.permission_mode", 6, 3)
    assert "i_understand_this_is_unsafe: true" in problem.message


def test_a_variable_can_be_true_false_or_a_number(ours: Any) -> None:
    text = f"{HEAD}claude: {{web_search: '${{ON}}', max_turns: '${{TURNS}}'}}\n"
    claude = ours.read(text, ON="true", TURNS="7").agent.settings["claude"]
    assert (claude.web_search, claude.max_turns) == (True, 7)
