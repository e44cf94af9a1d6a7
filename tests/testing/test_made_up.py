"""The smallest value of a schema: of the schema, or none."""

from __future__ import annotations

from typing import Any

import pytest

from holodeck_backend_claude.structured_output import problem_of
from holodeck_backend_claude.testing.made_up import made_up

PERSON = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ({"type": "string"}, "offline"),
        ({"type": "string", "minLength": 9}, "offlineof"),
        ({"type": "string", "maxLength": 3}, "off"),
        ({"type": "string", "pattern": "^[A-Z]{2}$", "examples": ["no", "DE"]}, "DE"),
        ({"type": "string", "enum": ["b", "a"]}, "b"),
        ({"const": {"a": 1}}, {"a": 1}),
        ({"type": "integer", "exclusiveMinimum": 3}, 4),
        ({"type": "integer", "minimum": 3, "multipleOf": 5}, 5),
        ({"type": "number", "maximum": -2.5}, -2.5),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ({"type": ["null", "string"]}, None),
        ({"type": "boolean", "default": True}, True),
        ({"type": "array", "items": {"type": "integer"}}, []),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [0, 0]),
        ({"type": "array", "contains": {"const": 7}}, [7]),
        ({"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "minItems": 2}, [1, 2]),
        ({"anyOf": [{"type": "string", "pattern": "^x{3}$"}, {"type": "null"}]}, None),
        ({"oneOf": [{"type": "number"}, {"type": "integer"}, {"type": "string"}]}, "offline"),
        ({"$ref": "#/$defs/person"}, {"name": "offline"}),
        ({"allOf": [PERSON, {"required": ["age"], "properties": {"age": {"const": 3}}}]},
         {"name": "offline", "age": 3}),
        ({"type": "object", "minProperties": 1, "properties": {"a": True}}, {"a": "offline"}),
        ({}, "offline"),
        (True, "offline"),
    ],
)  # fmt: skip
def test_is_of_the_schema(part: Any, value: Any) -> None:
    schema = {
        "type": "object",
        "properties": {"x": part, "left_out": {"type": "string"}},
        "required": ["x"],
        "$defs": {"person": PERSON},
    }
    assert made_up(schema) == {"x": value}
    assert problem_of({"x": value}, schema) is None


@pytest.mark.parametrize(
    "part",
    [
        {"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$"},
        {"type": "integer", "minimum": 2, "maximum": 1},
        {"type": "object", "properties": {"x": {"$ref": "#/properties/x"}}, "required": ["x"]},
        False,
    ],
)
def test_is_none_where_none_is_found(part: Any) -> None:
    assert made_up({"type": "object", "properties": {"x": part}, "required": ["x"]}) is None
