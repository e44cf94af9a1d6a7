"""A response format is checked before it is used, and an answer is of it or an error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holodeck_backend_claude.contract import ConfigError, ExecutionResult
from holodeck_backend_claude.structured_output import (
    ResponseFormatError,
    check_schema,
    hold_against,
    problem_of,
)

CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["city", "people"],
    "additionalProperties": False,
}
ROME = {"city": "Rome", "people": 3}


@pytest.mark.parametrize(
    ("schema", "place", "words"),
    [
        ([], "$", "a mapping"),
        ({"properties": {}}, "$.type", "type: object"),
        ({"type": "array"}, "$.type", "put a list or a value into a property"),
        ({"type": "object", "anyOf": []}, "$.anyOf", "at the root"),
        (
            {"type": "object", "properties": {"a": {"type": "text"}}},
            "$.properties.a.type",
            "'text' is not valid under any of the given schemas",
        ),
        (
            {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": 1}]}}},
            "$.properties.a.anyOf[1].type",
            "not valid JSON Schema",
        ),
        (
            {"type": "object", "properties": {"a": {"$ref": "#/$defs/B"}}},
            "$.properties.a.$ref",
            "'#/$defs/B' leads nowhere",
        ),
        (
            {"type": "object", "properties": {"a": {"$ref": "https://example.org/a"}}},
            "$.properties.a.$ref",
            "leads nowhere",
        ),
        ({"type": "object", "description": "x" * 100_000}, "$", "bytes of JSON"),
        ({"type": "object", "default": float("nan")}, "$", "not plain JSON"),
    ],
)
def test_a_wrong_schema_is_named_with_its_place(schema: Any, place: str, words: str) -> None:
    with pytest.raises(ResponseFormatError) as caught:
        check_schema(schema)
    assert f"wrong at {place}: " in str(caught.value)
    assert words in caught.value.problem
    assert isinstance(caught.value, ConfigError)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"$schema": "http://json-schema.org/draft-07/schema#"},
        {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#"}}},
        {"properties": {"a": {"enum": [{"$ref": "nowhere"}]}}},
    ],
)
def test_a_sound_schema_is_taken_as_it_is(more: dict[str, Any]) -> None:
    schema = {"type": "object", **more}
    assert check_schema(schema) is schema


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (ROME, ""),
        (ROME, "Here it is."),
        ({"output": ROME}, ""),
        ({"output": json.dumps(ROME)}, ""),
        (None, json.dumps(ROME)),
        (None, f"  {json.dumps(ROME, indent=2)}\n"),
        (None, f"```json\n{json.dumps(ROME)}\n```"),
        (None, json.dumps({"result": ROME})),
    ],
)
def test_an_answer_of_the_form_is_found_wherever_it_is(given: Any, text: str) -> None:
    result = hold_against(ExecutionResult(text), CITY, given)
    assert result.structured_output == ROME
    assert json.loads(result.response) == ROME
    assert not result.is_error


@pytest.mark.parametrize("text", ["", "Rome has 3.", f"Sure! {json.dumps(ROME)}", "{", "[" * 9_999])
def test_words_are_no_structured_answer(text: str) -> None:
    result = hold_against(ExecutionResult(text), CITY)
    assert result.error_reason == "structured output missing"
    assert result.is_error
    assert result.structured_output is None
    assert result.response == text


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"city": "Rome"}, "'people' is a required property"),
        ({**ROME, "people": "3"}, "people: '3' is not of type 'integer'"),
        ({**ROME, "x": 1}, "Additional properties are not allowed ('x' was unexpected)"),
        ([ROME], f"{[ROME]!r} is not of type 'object'"),
        ("words", "'words' is not of type 'object'"),
        (False, "False is not of type 'object'"),
    ],
)
def test_an_answer_of_another_form_is_an_error_that_says_why(given: Any, why: str) -> None:
    result = hold_against(ExecutionResult(""), CITY, given)
    assert result.error_reason == f"structured output invalid: {why}"
    assert result.structured_output is None


def test_a_property_of_the_form_is_never_taken_for_a_wrapping() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "object"}}, "required": ["a"]}
    assert hold_against(ExecutionResult(""), schema, {"a": {"a": {}}}).structured_output == {
        "a": {"a": {}}
    }


def test_a_turn_that_failed_stays_as_it_is() -> None:
    failed = ExecutionResult(json.dumps(ROME), is_error=True, error_reason="refused")
    assert hold_against(failed, CITY, ROME) is failed


def test_a_long_why_is_cut() -> None:
    why = problem_of({"city": "x" * 5_000, "people": "y" * 5_000}, CITY)
    assert why is not None
    assert len(why) < 350
    assert why.endswith("…")


def test_the_draft_that_a_schema_names_is_the_one_that_counts() -> None:
    draft7 = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"a": {"type": "array", "items": [{"type": "integer"}]}},
    }
    assert problem_of({"a": ["x"]}, draft7) is not None
