"""Arguments sent as text: what is read as what, and what stays as it is."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from holodeck_backend_claude.calls.coercion import coerce

INTEGER = {"type": "integer"}
NUMBERS = {"type": "array", "items": INTEGER}
OBJECT = {"type": "object", "properties": {"n": INTEGER}}
OPTIONAL = {"anyOf": [INTEGER, {"type": "null"}]}


@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        ("5", INTEGER, 5),
        (" -5 ", INTEGER, -5),
        ("5.0", INTEGER, 5),
        (5.0, INTEGER, 5),
        ("2.5", {"type": "number"}, 2.5),
        ("5", {"type": "number"}, 5),
        ("true", {"type": "boolean"}, True),
        ("False", {"type": "boolean"}, False),
        ("null", {"type": "null"}, None),
        ("None", {"type": ["integer", "null"]}, None),
        ("[1, 2]", NUMBERS, [1, 2]),
        ("{}", {"type": "object"}, {}),
        ('{"n": "7"}', OBJECT, {"n": 7}),
        ('["1", "2"]', NUMBERS, [1, 2]),
        (["1", 2], NUMBERS, [1, 2]),
        ({"n": "7"}, OBJECT, {"n": 7}),
        ({"a": {"n": "7"}}, {"type": "object", "additionalProperties": OBJECT}, {"a": {"n": 7}}),
        ({"x1": "7"}, {"type": "object", "patternProperties": {"^x": INTEGER}}, {"x1": 7}),
        (["1", "2"], {"type": "array", "prefixItems": [INTEGER], "items": {}}, [1, "2"]),
        ("5", OPTIONAL, 5),
        ("null", OPTIONAL, None),
        (5.0, OPTIONAL, 5),
        ("5", {"oneOf": [INTEGER, NUMBERS]}, 5),
        ("[5]", {"oneOf": [INTEGER, NUMBERS]}, [5]),
        ("5", {"allOf": [INTEGER, {"minimum": 1}]}, 5),
        ("2", {"enum": [1, 2, 3]}, 2),
        ("true", {"const": True}, True),
        ("5", {"anyOf": [{"enum": ["auto"]}, INTEGER]}, 5),
        ({"n": "7"}, {"anyOf": [{"type": "object", "required": ["m"]}, OBJECT]}, {"n": 7}),
    ],
)
def test_text_is_read_where_there_is_one_way_to_read_it(
    value: object, schema: dict[str, Any], expected: object
) -> None:
    got = coerce(value, schema)
    assert got == expected
    assert type(got) is type(expected)


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("5", {"type": "string"}),
        ("[1]", {"type": ["string", "array"]}),
        ("null", {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ("5", {"anyOf": [{"type": "string", "minLength": 3}, INTEGER]}),
        ("5", {"enum": ["5", 5]}),
        ("5", {}),
        ("auto", {"anyOf": [{"enum": ["auto"]}, INTEGER]}),
        (["5"], {"type": "array", "items": {"type": "string"}}),
        (5.0, {"type": "number"}),
    ],
)
def test_a_real_string_or_number_stays_what_it_is(value: object, schema: dict[str, Any]) -> None:
    got = coerce(value, schema)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("five", INTEGER),
        ("", INTEGER),
        ("5.5", INTEGER),
        ("05", INTEGER),
        ("NaN", {"type": "number"}),
        ("1e999", {"type": "number"}),
        ("9" * 5_000, INTEGER),
        ("[" * 100_000, NUMBERS),
        ("1", {"type": "boolean"}),
        ("yes", {"type": "boolean"}),
        ("1, 2", NUMBERS),
        ("5", NUMBERS),
        ("[1]", {"type": "object"}),
        (5.5, INTEGER),
        (True, INTEGER),
        (5, {"type": "string"}),
    ],
)
def test_what_cannot_be_read_is_left_for_validation_to_refuse(
    value: object, schema: dict[str, Any]
) -> None:
    assert coerce(value, schema) == value


def test_the_value_given_is_never_changed() -> None:
    schema = {"type": "object", "properties": {"list": NUMBERS, "object": OBJECT}}
    given = {"list": ["1", ["2"]], "object": {"n": "3"}, "other": "4"}
    before = copy.deepcopy(given)
    got = coerce(given, schema)
    assert got == {"list": [1, ["2"]], "object": {"n": 3}, "other": "4"}
    assert given == before
