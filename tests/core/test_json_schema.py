"""A value held against a schema: the right verdict, in bounded time, and without a network."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from holodeck_backend_claude.json_schema import (
    UncheckableError,
    errors_of,
    is_valid,
    matches,
    time_limit,
)

BACKTRACKS = "^(a|a)*$"


def branches(levels: int) -> dict[str, Any]:
    """Each level asks twice for the one below: 2 to the power of the levels."""
    defs = {
        f"L{number}": {"anyOf": [{"$ref": f"#/$defs/L{number + 1}"}] * 2}
        for number in range(levels)
    }
    return {"$ref": "#/$defs/L0", "$defs": {**defs, f"L{levels}": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": BACKTRACKS}, "a" * 60 + "!"),
        ({"patternProperties": {BACKTRACKS: False}}, {"a" * 60 + "!": 1}),
        (
            {"patternProperties": {BACKTRACKS: {}}, "additionalProperties": False},
            {"a" * 60 + "!": 1},
        ),
        ({"propertyNames": {"pattern": BACKTRACKS}}, {"a" * 60 + "!": 1}),
        (branches(40), 1),
    ],
)
def test_what_would_take_for_ever_is_given_up(schema: dict[str, Any], value: Any) -> None:
    with pytest.raises(UncheckableError, match="too long"), time_limit(0.2):
        is_valid(value, schema)


def test_many_unequal_items_are_compared_in_one_pass() -> None:
    items = [{"a": number, "b": [True, None, "x"]} for number in range(20_000)]
    with time_limit(60):
        assert is_valid(items, {"uniqueItems": True})
        assert not is_valid([*items, items[7]], {"uniqueItems": True})


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"uniqueItems": True}, [1, 1.0]),
        ({"uniqueItems": True}, [1, True, "1", [1], {"1": 1}]),
        ({"uniqueItems": True}, [[1, {"a": 0}], [1, {"a": False}]]),
        ({"uniqueItems": True}, [{"a": 1, "b": 2}, {"b": 2, "a": 1}]),
        ({"uniqueItems": True}, [[], {}, "", None, 0, False]),
        ({"uniqueItems": False}, [1, 1]),
        ({"pattern": "b"}, "abc"),
        ({"pattern": "^b"}, "abc"),
        ({"pattern": "x"}, 5),
        ({"patternProperties": {"^n": {"type": "integer"}}}, {"n": 1, "m": "x"}),
        ({"patternProperties": {"^n": {"type": "integer"}}}, {"n": "x"}),
        ({"patternProperties": {"^n": {}}, "additionalProperties": False}, {"n": 1}),
        ({"patternProperties": {"^n": {}}, "additionalProperties": False}, {"m": 1}),
        (
            {"patternProperties": {"^n": {}}, "additionalProperties": {"type": "null"}},
            {"n": 1, "m": None},
        ),
        (
            {"patternProperties": {"^n": {}}, "additionalProperties": {"type": "null"}},
            {"n": 1, "m": 2},
        ),
        (
            {
                "properties": {"k": {}},
                "patternProperties": {"^n": {}},
                "additionalProperties": False,
            },
            {"k": 1, "n": 1},
        ),
        ({"additionalProperties": False, "patternProperties": {"x": {}}}, [1]),
    ],
)
def test_the_verdict_is_that_of_the_plain_validator(schema: dict[str, Any], value: Any) -> None:
    with time_limit(60):
        assert is_valid(value, schema) == Draft202012Validator(schema).is_valid(value)


def test_an_error_has_its_place_and_names_what_is_too_much() -> None:
    schema = {
        "properties": {
            "a": {"patternProperties": {"^n": {}}, "additionalProperties": False},
        }
    }
    with time_limit(60):
        (error,) = errors_of({"a": {"m": 1}}, schema)
    assert list(error.absolute_path) == ["a"]
    assert "'m'" in error.message


def test_a_reference_to_another_address_is_never_fetched() -> None:
    with pytest.raises(UncheckableError, match="cannot be checked"), time_limit(60):
        is_valid(1, {"$ref": "http://127.0.0.1:9/schema"})


def test_a_pattern_that_is_none_says_so() -> None:
    with pytest.raises(UncheckableError, match="no regular expression"):
        matches("(", "x")


def test_checks_within_one_another_share_the_time_of_the_outermost() -> None:
    with pytest.raises(UncheckableError, match="too long"), time_limit(0.0), time_limit(60):
        is_valid(1, {"type": "integer"})


def test_properties_that_only_patterns_evaluate_are_not_checked_without_a_limit() -> None:
    schema = {"unevaluatedProperties": False, "allOf": [{"patternProperties": {BACKTRACKS: {}}}]}
    with pytest.raises(UncheckableError, match="not supported"), time_limit(60):
        is_valid({"a" * 60 + "!": 1}, schema)
