"""Schemas of tools: what is rewritten, what is refused, and how a refusal reads."""

from __future__ import annotations

import copy
import enum
import json
import random
from collections.abc import Callable
from typing import Annotated, Any, Literal, Optional

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from holodeck_backend_claude.calls import SchemaRefusedError, check_schema, model_schema
from holodeck_backend_claude.calls.coercion import coerce
from holodeck_backend_claude.contract import PluginError

WHO = "tool 'kb' (function)"


def check(schema: object) -> dict[str, Any]:
    return check_schema(schema, tool=WHO)


def refusal(schema: object) -> SchemaRefusedError:
    with pytest.raises(SchemaRefusedError) as caught:
        check(schema)
    assert WHO in str(caught.value)
    return caught.value


def with_parameter(parameter: object) -> dict[str, Any]:
    return {"type": "object", "properties": {"p": parameter}}


def accepts(schema: dict[str, Any], value: object) -> bool:
    return bool(Draft202012Validator(schema).is_valid(value))


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    x: int
    y: int = 0


class Order(BaseModel):
    kind: Literal["buy", "sell"]
    colour: Colour = Colour.RED
    span: tuple[int, str] = (0, "")
    where: Point
    note: Optional[str] = None  # noqa: UP045 - both spellings of a union come up
    limit: int | None = None
    tags: list[Point] = Field(default_factory=list)


class Node(BaseModel):
    name: str
    children: list[Node] = Field(default_factory=list)


class TestModels:
    def test_literal_enum_tuple_and_nested_models_keep_their_types(self) -> None:
        schema = model_schema(Order, tool=WHO)
        properties = schema["properties"]
        assert properties["kind"]["enum"] == ["buy", "sell"]
        assert properties["colour"]["enum"] == ["red", "blue"]
        assert [part["type"] for part in properties["span"]["prefixItems"]] == ["integer", "string"]
        assert properties["where"]["properties"]["x"]["type"] == "integer"
        assert properties["tags"]["items"]["required"] == ["x"]

    def test_parameters_with_a_default_are_not_required_and_none_is_taken(self) -> None:
        schema = model_schema(Order, tool=WHO)
        assert schema["required"] == ["kind", "where"]
        assert accepts(schema, {"kind": "buy", "where": {"x": 1}, "limit": None})

    def test_a_type_that_cannot_be_expressed_is_an_error_naming_tool_and_parameter(self) -> None:
        class Bad(BaseModel):
            fine: int
            callback: Callable[[], int]

        with pytest.raises(SchemaRefusedError, match=r"tool 'kb'.*\$\.properties\.callback.*use"):
            model_schema(Bad, tool=WHO)

    def test_a_default_that_is_no_json_is_left_out_without_a_warning(self) -> None:
        class Odd(BaseModel):
            when: Annotated[Any, Field(default=object())]

        assert "default" not in model_schema(Odd, tool=WHO)["properties"]["when"]

    def test_a_recursive_model_is_unrolled_three_levels_then_free_form(self) -> None:
        schema = model_schema(Node, tool=WHO)
        assert "$ref" not in json.dumps(schema)
        assert "$defs" not in schema
        level = schema
        for _ in range(3):
            assert level["properties"]["name"]["type"] == "string"
            level = level["properties"]["children"]["items"]
        assert "properties" not in level
        assert accepts(schema["properties"]["children"], [{"name": "a", "children": []}])
        deep = {"name": "1", "children": [{"name": "2", "children": [{"name": "3"}]}]}
        deep["children"][0]["children"][0]["children"] = [{"anything": "goes"}]  # type: ignore[index]
        assert accepts(schema, deep)
        assert not accepts(schema, {"name": "1", "children": [{"children": []}]})


class TestReferences:
    def test_a_reference_is_replaced_and_its_neighbours_stay(self) -> None:
        schema = check(
            {
                "type": "object",
                "properties": {"p": {"$ref": "#/$defs/N", "description": "How many."}},
                "$defs": {"N": {"type": "integer", "description": "A number.", "minimum": 1}},
            }
        )
        assert schema["properties"]["p"] == {
            "type": "integer",
            "minimum": 1,
            "description": "How many.",
        }
        assert "$defs" not in schema

    def test_constraints_beside_a_reference_hold_together_with_it(self) -> None:
        schema = check(
            {
                "type": "object",
                "properties": {"p": {"$ref": "#/$defs/N", "minimum": 5}},
                "$defs": {"N": {"type": "integer", "minimum": 1}},
            }
        )
        assert not accepts(schema, {"p": 3})
        assert accepts(schema, {"p": 5})

    def test_definitions_of_older_drafts_and_references_into_properties_work(self) -> None:
        schema = check(
            {
                "type": "object",
                "properties": {
                    "a": {"$ref": "#/definitions/A~1b%20c"},
                    "b": {"$ref": "#/properties/a"},
                },
                "definitions": {"A/b c": {"type": "boolean"}},
            }
        )
        assert schema["properties"] == {"a": {"type": "boolean"}, "b": {"type": "boolean"}}
        assert "definitions" not in schema

    def test_a_property_called_like_a_keyword_stays_a_property(self) -> None:
        names = {"$ref": {"type": "string"}, "id": {"type": "string"}}
        schema = check({"type": "object", "properties": {"p": {"properties": names}}})
        assert schema["properties"]["p"]["properties"] == names

    def test_the_whole_schema_may_refer_to_itself(self) -> None:
        schema = check(
            {"type": "object", "properties": {"child": {"$ref": "#"}, "n": {"type": "integer"}}}
        )
        assert "$ref" not in json.dumps(schema)
        assert not accepts(schema, {"child": {"child": {"n": "x"}}})

    def test_a_reference_that_refers_to_itself_ends_free_form(self) -> None:
        schema = check(
            {
                "type": "object",
                "properties": {"p": {"$ref": "#/$defs/A"}},
                "$defs": {"A": {"$ref": "#/$defs/A"}},
            }
        )
        assert accepts(schema, {"p": [1]})

    @pytest.mark.parametrize("ref", ["#/$defs/Missing", "other.json", "https://example.org/x", 3])
    def test_a_reference_that_leads_nowhere_is_named_with_its_place(self, ref: object) -> None:
        problem = refusal(with_parameter({"$ref": ref}))
        assert problem.path == "$.properties.p.$ref"

    def test_definitions_that_multiply_are_unrolled_less_or_refused(self) -> None:
        many: dict[str, dict[str, Any]] = {
            f"T{i}": {"type": "object", "properties": {}} for i in range(12)
        }
        for node in many.values():
            node["properties"] = {name: {"$ref": f"#/$defs/{name}"} for name in many}
        problem = refusal(
            {"type": "object", "properties": {"p": {"$ref": "#/$defs/T0"}}, "$defs": many}
        )
        assert "simplify" in str(problem)
        few: dict[str, dict[str, Any]] = {f"T{i}": {"properties": {}} for i in range(4)}
        for node in few.values():
            node["properties"] = {name: {"$ref": f"#/$defs/{name}"} for name in few}
        schema = check(
            {"type": "object", "properties": {"p": {"$ref": "#/$defs/T0"}}, "$defs": few}
        )
        assert "$ref" not in json.dumps(schema)


class TestSubSchemas:
    def test_true_and_null_become_free_form_and_false_takes_nothing(self) -> None:
        schema = check({"type": "object", "properties": {"any": True, "nil": None, "never": False}})
        assert schema["properties"] == {"any": {}, "nil": {}, "never": {"not": {}}}

    def test_additional_properties_may_be_a_boolean(self) -> None:
        schema = check({"type": "object", "properties": {}, "additionalProperties": False})
        assert schema["additionalProperties"] is False

    def test_boolean_items_are_replaced_wherever_they_stand(self) -> None:
        schema = check(with_parameter({"type": "array", "prefixItems": [True], "items": False}))
        assert schema["properties"]["p"] == {
            "type": "array",
            "prefixItems": [{}],
            "items": {"not": {}},
        }

    def test_a_sub_schema_that_is_none_is_named_with_its_place(self) -> None:
        problem = refusal(with_parameter({"anyOf": [{"type": "string"}, "integer"]}))
        assert problem.path == "$.properties.p.anyOf[1]"


class TestRoot:
    @pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
    def test_a_union_at_the_root_is_refused_with_a_remedy(self, keyword: str) -> None:
        parts = [{"required": ["a"]}, {"required": ["b"]}]
        problem = refusal({"type": "object", "properties": {}, keyword: parts})
        assert problem.path == f"$.{keyword}"
        assert "move it into a property" in str(problem)

    @pytest.mark.parametrize("keyword", ["not", "if"])
    def test_a_condition_at_the_root_is_refused(self, keyword: str) -> None:
        assert refusal({"type": "object", keyword: {"required": ["a"]}}).path == f"$.{keyword}"

    def test_a_union_of_one_at_the_root_is_taken_out(self) -> None:
        schema = check(
            {
                "allOf": [{"$ref": "#/$defs/A"}],
                "description": "outer",
                "$defs": {"A": {"type": "object", "description": "inner", "properties": {}}},
            }
        )
        assert schema == {"type": "object", "description": "outer", "properties": {}}

    def test_type_and_properties_are_always_there(self) -> None:
        assert check({}) == {"type": "object", "properties": {}}
        assert check({"properties": {"a": {}}})["type"] == "object"

    def test_an_optional_object_is_an_object(self) -> None:
        assert check({"type": ["object", "null"]})["type"] == "object"

    @pytest.mark.parametrize("root", [{"type": "string"}, {"type": ["array", "null"]}, True, False])
    def test_another_root_than_an_object_is_refused(self, root: object) -> None:
        assert refusal(root).path in {"$", "$.type"}

    @pytest.mark.parametrize("schema", [{"query": str}, {"query": "string"}, Order, None, "object"])
    def test_what_is_no_schema_is_refused_instead_of_taken_for_a_type_map(
        self, schema: object
    ) -> None:
        assert refusal(schema).path == "$"

    @pytest.mark.parametrize("name", ["filter[id]", "zwei Wörter", "x" * 65, ""])
    def test_a_parameter_name_that_the_api_refuses_is_named(self, name: str) -> None:
        problem = refusal({"type": "object", "properties": {name: {"type": "string"}}})
        assert repr(name) in str(problem)


class TestOlderDrafts:
    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (
                {"type": "array", "items": [{"type": "string"}], "additionalItems": False},
                {"type": "array", "prefixItems": [{"type": "string"}], "items": {"not": {}}},
            ),
            (
                {"type": "number", "minimum": 0, "exclusiveMinimum": True},
                {"type": "number", "exclusiveMinimum": 0},
            ),
            (
                {"type": "number", "maximum": 9, "exclusiveMaximum": False},
                {"type": "number", "maximum": 9},
            ),
            (
                {"dependencies": {"a": ["b"], "c": {"$ref": "#/definitions/D"}}},
                {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}}},
            ),
            ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ],
    )
    def test_is_rewritten(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        definitions = {"D": {"required": ["d"]}}
        schema = {**with_parameter(old), "definitions": definitions}
        assert check(schema)["properties"]["p"] == new

    def test_a_pattern_that_python_cannot_compile_moves_to_the_description(self) -> None:
        parameter = {"type": "string", "pattern": r"^\p{L}+$", "description": "A word."}
        got = check(with_parameter(parameter))["properties"]["p"]
        assert "pattern" not in got
        assert got["description"] == r"A word. (Must match the pattern ^\p{L}+$)"


class TestValidity:
    def test_what_is_not_valid_is_named_with_its_place(self) -> None:
        problem = refusal(with_parameter({"type": "strng"}))
        assert problem.path == "$.properties.p.type"

    def test_a_pattern_for_names_that_python_cannot_compile_is_refused(self) -> None:
        problem = refusal(with_parameter({"patternProperties": {r"^\p{L}": {}}}))
        assert "$.properties.p" in problem.path

    def test_required_that_is_no_list_is_named(self) -> None:
        assert refusal({"type": "object", "required": "query"}).path == "$.required"

    @pytest.mark.parametrize("value", [{1, 2}, float("nan"), object(), b"x"])
    def test_a_value_that_is_no_json_is_named_with_its_place(self, value: object) -> None:
        assert refusal(with_parameter({"default": value})).path == "$.properties.p.default"

    def test_nesting_without_end_is_refused(self) -> None:
        schema: dict[str, Any] = {}
        schema["properties"] = {"again": schema}
        assert "deep" in str(refusal(schema))

    def test_the_given_schema_is_not_changed_and_shares_nothing_with_the_result(self) -> None:
        given = with_parameter({"enum": ["a", {"b": [1]}], "$ref": "#/$defs/S"})
        given["$defs"] = {"S": {"type": ["string", "object"]}}
        before = copy.deepcopy(given)
        got = check(given)
        got["properties"]["p"]["enum"][1]["b"].append(2)
        assert given == before

    def test_is_a_plugin_error_that_tells_tool_and_place_apart(self) -> None:
        problem = refusal(with_parameter({"type": "strng"}))
        assert isinstance(problem, PluginError)
        assert problem.tool == WHO


_WORDS: tuple[Any, ...] = (
    "object", "string", "integer", "array", "null", ["object", "null"], 5, 1.5, None, True, False,
    [], {}, "#", "#/$defs/a", "#/properties/a", ["a"], "(", {"a": ["b"]},
)  # fmt: skip
_KEYWORDS = (
    "type", "properties", "items", "anyOf", "oneOf", "allOf", "not", "$ref", "$defs", "enum",
    "const", "required", "additionalProperties", "prefixItems", "patternProperties", "nullable",
    "exclusiveMinimum", "minimum", "dependencies", "definitions", "pattern", "description",
    "default", "if", "then", "additionalItems", "dependentRequired", "format",
)  # fmt: skip


def _nonsense(draw: random.Random, depth: int = 0) -> Any:
    if depth > 4 or draw.random() < 0.25:
        return draw.choice(_WORDS)
    if draw.random() < 0.2:
        return [_nonsense(draw, depth + 1) for _ in range(draw.randint(0, 3))]
    names = _KEYWORDS if draw.random() < 0.7 else ("a", "b", "c")
    keys = draw.sample(names, draw.randint(0, min(5, len(names))))
    return {key: _nonsense(draw, depth + 1) for key in keys}


@pytest.mark.parametrize("seed", range(20))
def test_nonsense_is_refused_or_comes_out_valid_and_its_arguments_are_only_improved(
    seed: int,
) -> None:
    draw = random.Random(seed)
    sent: list[Any] = ["5", "[1]", "{}", "null", 5.0, {"a": "5", "b": ["1"]}, ["1"], None, "x"]
    for _ in range(100):
        given = _nonsense(draw)
        if isinstance(given, dict):
            given["type"] = "object"
        try:
            schema = check(given)
        except SchemaRefusedError:
            continue
        assert all(accepts(schema, coerce(value, schema)) or not accepts(schema, value)
                   for value in sent)  # fmt: skip
