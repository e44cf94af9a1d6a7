"""Variables in the texts of an agent file."""

from __future__ import annotations

from typing import Any

import pytest

from holodeck_backend_claude.config.environment import Variables, plain_data
from holodeck_backend_claude.config.problems import Findings
from holodeck_backend_claude.config.yaml.parser import parse


def filled(text: str, findings: Findings | None = None, **values: str) -> Any:
    collected = findings or Findings("agent.yaml")
    root = parse(text, collected)
    assert root is not None
    data = plain_data(root, (), Variables(values), collected)
    if findings is None:
        collected.raise_errors()
    return data


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: ${X}", "one"),
        ("a: before ${X} after ${X}", "before one after one"),
        ("a: '${X}'", "one"),
        ("a: ${UNSET:-two}", "two"),
        ("a: ${UNSET:-}", ""),
        ("a: ${EMPTY:-two}", "two"),
        ("a: ${EMPTY}", ""),
        ("a: ${X:-two}", "one"),
        ("a: ${UNSET:-http://h:1/p?q=1}", "http://h:1/p?q=1"),
        ("a: $${X}", "${X}"),
        ("a: $X and ${user.name} and ${} stay", "$X and ${user.name} and ${} stay"),
        ("a: ${FIVE}", "5"),
    ],
)
def test_references_are_replaced(text: str, value: str) -> None:
    assert filled(text, X="one", EMPTY="", FIVE="5") == {"a": value}


def test_a_value_brings_no_structure_and_no_further_references() -> None:
    hostile = "x\nclaude: {permission_mode: bypass}\n${OTHER} &a *a [1]"
    assert filled("a: ${X}\nb: [1, {c: '${X}'}]", X=hostile) == {
        "a": hostile,
        "b": [1, {"c": hostile}],
    }


def test_keys_are_left_alone() -> None:
    assert filled("${X}: 1", X="one") == {"${X}": 1}


def test_all_unset_variables_are_reported_with_their_places() -> None:
    findings = Findings("agent.yaml")
    filled("a: ${ONE}\nb:\n  - x ${TWO} ${ONE}\n", findings)
    assert [(e.line, e.path) for e in findings.errors] == [(1, "a"), (2 + 1, "b[0]")]
    assert "not set in the environment: ONE" in findings.errors[0].message
    assert "TWO, ONE" in findings.errors[1].message


@pytest.mark.parametrize("text", ["a: ${X:?must be set}", "a: ${X-two}", "a: ${X:-${Y}}"])
def test_other_forms_of_shells_are_refused(text: str) -> None:
    findings = Findings("agent.yaml")
    filled(text, findings, X="one")
    (error,) = findings.errors
    assert "not understood" in error.message


def test_the_values_that_were_used_are_remembered() -> None:
    variables = Variables({"X": "one", "Y": "two"})
    root = parse("a: ${X}", Findings("f"))
    assert root
    plain_data(root, (), variables, Findings("f"))
    assert variables.used == {"one": "X"}
