"""A response format is checked before it is used, and an answer is of it or an error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holodeck_backend_claude.answer_schema import ResponseFormatError, check_schema
from holodeck_backend_claude.contract import ConfigError, ExecutionResult
from holodeck_backend_claude.structured_output import hold_against, problem_of

CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["city", "people"],
    "additionalProperties": False,
}
ROME = {"city": "Rome", "people": 3}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


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
            "'text' is no type of JSON Schema; did you mean 'string'?",
        ),
        (
            {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": 1}]}}},
            "$.properties.a.anyOf[1].type",
            "not valid JSON Schema",
        ),
        (
            {"type": "object", "properties": {"a": {"$ref": "#/$defs/B"}}},
            "$.properties.a.$ref",
            "'#/$defs/B' leads to no schema",
        ),
        (
            {"type": "object", "properties": {"default": {"$ref": "https://example.org/a"}}},
            "$.properties.default.$ref",
            "leads to no schema",
        ),
        (
            {"type": "object", "properties": {"a": {"$dynamicRef": "https://example.org/a"}}},
            "$.properties.a.$dynamicRef",
            "not supported",
        ),
        (
            {"type": "object", "properties": {"a": {"$id": "https://example.org/a"}}},
            "$.properties.a.$id",
            "no '$id' here",
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/A"}},
                "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}},
            },
            "$.properties.a.$ref",
            "leads back to itself",
        ),
        (
            {"type": "object", "properties": {"a": {"$ref": "#/required"}}, "required": ["a"]},
            "$.properties.a.$ref",
            "leads to no schema",
        ),
        ({"type": "object", "$schema": 5}, "$.$schema", "no draft"),
        ({"type": "object", "$schema": "https://example.org/draft"}, "$.$schema", "no draft"),
        (
            {
                "type": "object",
                "unevaluatedProperties": False,
                "patternProperties": {"^a": {"type": "string"}},
            },
            "$.unevaluatedProperties",
            "not supported beside 'patternProperties'",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "boolen"}}},
            "$.properties.a.type",
            "did you mean 'boolean'?",
        ),
        (
            {"type": "object", "properties": {"a": {"enmu": ["x"]}}},
            "$.properties.a.enmu",
            "did you mean 'enum'?",
        ),
        (nested(110), "$", "more than 64 levels"),
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
        {"properties": {"enmu": {"x-ours": 1}}},
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


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": Infinity}', '{"a": 1e999}'])
def test_a_number_that_json_does_not_have_is_no_answer(text: str) -> None:
    result = hold_against(ExecutionResult(text), {"type": "object"})
    assert result.error_reason == "structured output missing"


def test_half_a_character_in_an_answer_is_replaced_so_that_it_can_be_written() -> None:
    given = {"a\ud800": ["\ud83d\ude00", "\udfff"]}
    for result in (
        hold_against(ExecutionResult(json.dumps(given)), {"type": "object"}),
        hold_against(ExecutionResult(""), {"type": "object"}, given),
    ):
        assert result.structured_output == {"a?": ["😀", "?"]}
        assert json.loads(result.response.encode()) == result.structured_output


TREE = {
    "type": "object",
    "properties": {"a": {"$ref": "#"}},
    "additionalProperties": False,
}


def test_an_answer_that_is_nested_too_deeply_to_be_checked_is_an_error_that_says_so() -> None:
    answer: dict[str, Any] = {}
    for _ in range(400):
        answer = {"a": answer}
    result = hold_against(ExecutionResult(json.dumps(answer)), TREE)
    assert result.is_error
    assert "nested too deeply" in (result.error_reason or "")


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
