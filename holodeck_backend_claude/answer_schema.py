"""The schema that a structured answer may have: what models' APIs take, and what can be checked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

from holodeck_backend_claude.contract import ConfigError, JsonSchema
from holodeck_backend_claude.json_schema import check_draft, known_draft

if TYPE_CHECKING:
    from jsonschema import SchemaError

SchemaPath: TypeAlias = tuple[str | int, ...]
"""Where in a schema: ``("properties", "city", "type")``."""

MAX_SCHEMA_BYTES = 100_000
"""The longest schema as JSON: Claude Code takes it as one argument, and Linux bounds that."""

_REFUSED_AT_ROOT = ("anyOf", "oneOf", "allOf", "$ref", "not", "if", "enum", "const")
_DEEPEST = 64
_LONGEST_WHY = 300
# Keywords by what stands below them; below all others there is no schema.
_OF_SCHEMAS_BY_NAME = frozenset(
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]
)
_OF_SCHEMAS = frozenset(["anyOf", "oneOf", "allOf", "prefixItems", "items"])
_OF_A_SCHEMA = frozenset(
    ["items", "additionalItems", "additionalProperties", "unevaluatedItems", "propertyNames",
     "unevaluatedProperties", "contains", "not", "if", "then", "else"]
)  # fmt: skip
_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
_MEANT = {
    "str": "string", "text": "string", "float": "number", "int": "integer", "bool": "boolean",
    "list": "array", "dict": "object", "map": "object", "none": "null",
}  # fmt: skip
_ANNOTATIONS = frozenset(
    ["title", "description", "default", "examples", "format", "deprecated", "readOnly",
     "writeOnly", "contentEncoding", "contentMediaType", "contentSchema", "$schema", "$id",
     "$defs", "definitions", "$comment", "$vocabulary", "then", "else", "minContains",
     "maxContains", "dependencies"]
)  # fmt: skip
_LEAD_ELSEWHERE = ("$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$recursiveAnchor", "$anchor")


class ResponseFormatError(ConfigError):
    """A schema that no response format can have.

    Attributes:
        path: Where in the schema.
        problem: What is wrong there.
    """

    def __init__(self, path: SchemaPath, problem: str) -> None:
        place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path)
        super().__init__(f"the response format is wrong at ${place}: {problem}")
        self.path = path
        self.problem = problem


def check_schema(schema: object) -> JsonSchema:
    """Return the schema, or say what is wrong with it.

    It is JSON Schema 2020-12 unless ``$schema`` names another draft, and its root is an object:
    that is what models' APIs take.

    Raises:
        ResponseFormatError: With the place in the schema.
    """
    from jsonschema.exceptions import SchemaError

    if not isinstance(schema, dict):
        raise ResponseFormatError((), "it has to be a mapping: a JSON Schema with 'type: object'")
    if schema.get("type") != "object":
        raise ResponseFormatError(
            ("type",), "the root has to say 'type: object'; put a list or a value into a property"
        )
    for keyword in _REFUSED_AT_ROOT:
        if keyword in schema:
            raise ResponseFormatError(
                (keyword,), f"models' APIs refuse {keyword!r} at the root; move it into a property"
            )
    if not known_draft(schema):
        raise ResponseFormatError(
            ("$schema",), f"{schema['$schema']!r} is no draft of JSON Schema that is known here"
        )
    _check_size(schema)
    try:
        check_draft(schema)
    except SchemaError as error:
        raise ResponseFormatError(tuple(error.absolute_path), _in_words(error)) from error
    for path, part in _parts(schema, ()):
        _check_spelling(part, path)
        _check_part(part, schema, path)
    return schema


def _in_words(error: SchemaError) -> str:
    """What is wrong with a schema; of a type that does not exist, which one may be meant."""
    value = error.instance
    if error.absolute_path and error.absolute_path[-1] == "type" and isinstance(value, str):
        near = _MEANT.get(value.lower()) or next(iter(get_close_matches(value, _TYPES, n=1)), None)
        meant = f"; did you mean {near!r}?" if near else ""
        return f"{value!r} is no type of JSON Schema{meant} (types are {', '.join(_TYPES)})"
    return f"it is not valid JSON Schema: {error.message[:_LONGEST_WHY]}"


def _check_size(schema: JsonSchema) -> None:
    if _depth(schema) > _DEEPEST:
        raise ResponseFormatError(
            (), f"it is nested more than {_DEEPEST} levels deep; use '$defs' and '$ref'"
        )
    try:
        size = len(json.dumps(schema, allow_nan=False).encode())
    except (TypeError, ValueError) as error:
        raise ResponseFormatError((), f"it is not plain JSON: {error}") from error
    if size > MAX_SCHEMA_BYTES:
        raise ResponseFormatError(
            (), f"it is {size:,} bytes of JSON, and {MAX_SCHEMA_BYTES:,} are allowed; simplify it"
        )


def _depth(data: object) -> int:
    """How many levels there are, counted as far as one more than is allowed."""
    level: list[object] = [data]
    for depth in range(_DEEPEST + 1):
        below: list[object] = []
        for item in level:
            if isinstance(item, Mapping):
                below += item.values()
            elif isinstance(item, list):
                below += item
        if not below:
            return depth
        level = below
    return _DEEPEST + 1


def _parts(schema: object, path: SchemaPath) -> Iterator[tuple[SchemaPath, Mapping[str, Any]]]:
    """The schema and every schema in it, each with its place."""
    if not isinstance(schema, Mapping):
        return
    yield path, schema
    for keyword, below in schema.items():
        if keyword in _OF_SCHEMAS_BY_NAME and isinstance(below, Mapping):
            for name, part in below.items():
                yield from _parts(part, (*path, keyword, name))
        elif keyword in _OF_SCHEMAS and isinstance(below, list):
            for index, part in enumerate(below):
                yield from _parts(part, (*path, keyword, index))
        elif keyword in _OF_A_SCHEMA:
            yield from _parts(below, (*path, keyword))


def _check_spelling(part: Mapping[str, Any], path: SchemaPath) -> None:
    """Refuse a keyword that is none, where it looks like one: it would have no effect."""
    for keyword in part.keys() - _keywords():
        near = get_close_matches(keyword, _keywords(), n=1, cutoff=0.75)
        if near:
            raise ResponseFormatError(
                (*path, keyword),
                f"{keyword!r} is no keyword of JSON Schema; did you mean {near[0]!r}?",
            )


@cache
def _keywords() -> frozenset[str]:
    from jsonschema import Draft202012Validator

    return _ANNOTATIONS | Draft202012Validator.VALIDATORS.keys() | set(_LEAD_ELSEWHERE)


def _check_part(part: Mapping[str, Any], root: JsonSchema, path: SchemaPath) -> None:
    """Refuse a reference that leads out of the schema, nowhere, or round in circles."""
    for keyword in _LEAD_ELSEWHERE:
        if keyword in part:
            raise ResponseFormatError(
                (*path, keyword), f"{keyword!r} is not supported; use '$defs' and '$ref'"
            )
    if "$id" in part and path:
        raise ResponseFormatError(
            (*path, "$id"), "a schema in a schema has no '$id' here; use '$defs' and '$ref'"
        )
    if "unevaluatedProperties" in part and "patternProperties" in part:
        raise ResponseFormatError(
            (*path, "unevaluatedProperties"),
            "it is not supported beside 'patternProperties'; use 'additionalProperties'",
        )
    followed: set[str] = set()
    target: Any = part
    while isinstance(target, Mapping) and isinstance(reference := target.get("$ref"), str):
        if reference in followed:
            raise ResponseFormatError((*path, "$ref"), f"{reference!r} leads back to itself")
        followed.add(reference)
        target = target_of(reference, root)
        if not isinstance(target, Mapping | bool):
            raise ResponseFormatError(
                (*path, "$ref"), f"{reference!r} leads to no schema; define one under '$defs'"
            )


def target_of(reference: str, root: JsonSchema) -> Any:
    """What a reference within the schema leads to; None where it is none, or leads nowhere."""
    if not (reference == "#" or reference.startswith("#/")):
        return None
    target: Any = root
    for step in reference.split("/")[1:]:
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(target, list) and key.isdecimal() and int(key) < len(target):
            target = target[int(key)]
        elif isinstance(target, Mapping) and key in target:
            target = target[key]
        else:
            return None
    return target
