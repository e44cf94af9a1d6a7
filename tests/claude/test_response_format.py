"""The schema that Claude Code gets allows whatever the whole schema allows, in its own words."""

from __future__ import annotations

from typing import Any

import pytest

from holodeck_backend_claude.claude.response_format import output_options, understood
from holodeck_backend_claude.structured_output import problem_of

PAIR = {"type": "array", "prefixItems": [{"type": "integer"}], "items": False}
LIST = {"type": "array", "contains": {"type": "integer"}, "minContains": 0}
EITHER = {"oneOf": [{"type": "string", "format": "date"}, {"type": "string", "pattern": "(?i)x"}]}


def of(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (of(PAIR), {"a": [1]}),
        (of(LIST), {"a": []}),
        (of(EITHER), {"a": "y"}),
        (of({"not": {"type": "string"}, "if": {"const": 1}, "then": {"title": "t"}}), {"a": 1}),
        (of({"type": "string", "pattern": r"^(?P<year>\d{4})$"}), {"a": "2026"}),
        (
            {
                "type": "object",
                "patternProperties": {r"\Ax-": {}},
                "additionalProperties": False,
            },
            {"x-a": 1},
        ),
        (
            {"type": "object", "patternProperties": {"^x": {}}, "additionalProperties": False},
            {"xa": 1},
        ),
    ],
)
def test_what_fits_the_whole_schema_fits_the_simpler_one(schema: Any, value: Any) -> None:
    assert problem_of(value, schema) is None
    assert problem_of(value, understood(schema)) is None


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ({"type": "string", "format": "email"}, '(format: "email")'),
        ({"description": "A day.", "format": "date"}, 'A day. (format: "date")'),
        (PAIR, '(prefixItems: [{"type": "integer"}]; items: false)'),
        ({"type": "string", "pattern": r"^a\-b$"}, r'(pattern: "^a\\-b$")'),
    ],
)
def test_what_is_left_out_is_told_to_the_model(part: dict[str, Any], told: str) -> None:
    assert understood(of(part))["properties"]["a"]["description"] == told


@pytest.mark.parametrize(
    "schema",
    [
        of({"type": "string", "pattern": r"^\d{3}(?:-\d+)?$", "minLength": 3}),
        of({"type": ["string", "null"], "enum": ["a", None], "title": "A", "default": "a"}),
        {**of({"$ref": "#/$defs/B"}), "$defs": {"B": {"type": "array", "items": {"$ref": "#"}}}},
        of({"type": "object", "additionalProperties": {"type": "integer"}, "required": ["b"]}),
        of({"anyOf": [{"type": "string"}, {"allOf": [{"type": "integer"}, {"minimum": 1}]}]}),
    ],
)
def test_a_schema_that_claude_code_understands_goes_as_it_is(schema: Any) -> None:
    assert understood(schema) == schema


def test_notes_that_change_nothing_are_left_out_without_a_word() -> None:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$comment": "c"}
    assert understood({**schema, **of({"x-order": 1, "deprecated": True})}) == of({})


def test_no_response_format_asks_for_nothing() -> None:
    assert output_options(None) == {}
