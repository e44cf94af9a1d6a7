"""Arguments that a model sent as text where the schema says number, list, object, true or null."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from holodeck_backend_claude.contract import JsonSchema
from holodeck_backend_claude.json_schema import check_time, is_valid, matches

_ANY = frozenset({"string", "integer", "number", "boolean", "null", "array", "object"})
_TYPES_OF: dict[type, frozenset[str]] = {
    type(None): frozenset({"null"}),
    bool: frozenset({"boolean"}),
    int: frozenset({"integer", "number"}),
    float: frozenset({"number"}),
    str: frozenset({"string"}),
    list: frozenset({"array"}),
}
_WORDS = {"true": True, "false": False, "null": None, "none": None}


def coerce(value: Any, schema: JsonSchema) -> Any:
    """The value in the type that the schema asks for, where there is only one way to read it.

    ``"5"`` becomes 5 for an integer and ``"[1, 2]"`` a list for an array, also inside objects
    and arrays. Where the schema takes text, text stays text. What cannot be read is returned as
    it is, for validation to refuse. The value itself is never changed.

    Args:
        value: Parsed JSON, as the model sent it.
        schema: A schema as :func:`.schema.check_schema` returns it.

    Raises:
        UncheckableError: It takes longer than ``json_schema.time_limit`` allows.
    """
    check_time()
    if isinstance(value, str):
        value = _read(value, _types(schema))
    elif isinstance(value, float) and value.is_integer():
        types = _types(schema)
        if "integer" in types and "number" not in types:
            value = int(value)
    if isinstance(value, Mapping):
        value = {name: coerce(item, _property(name, schema)) for name, item in value.items()}
    elif isinstance(value, list):
        value = [coerce(item, _item(index, schema)) for index, item in enumerate(value)]
    for part in schema.get("allOf", ()):
        value = coerce(value, part)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            value = _as_one_of(value, schema[keyword])
    return value


def _as_one_of(value: Any, options: list[JsonSchema]) -> Any:
    """The value coerced by the option it is meant for: one it fits as it is, else once coerced."""
    if isinstance(value, str) and any(map(_takes_any_text, options)):
        return value
    fitting = [option for option in options if is_valid(value, option)]
    for option in fitting or options:
        coerced = coerce(value, option)
        if is_valid(coerced, option):
            return coerced
    return value


def _takes_any_text(option: JsonSchema) -> bool:
    return "string" in _types(option) and "enum" not in option and "const" not in option


def _read(text: str, types: frozenset[str]) -> Any:
    """The JSON value that a text stands for, if it is of one of the types; else the text."""
    if "string" in types:
        return text
    word = text.strip()
    try:
        parsed = _WORDS[word.lower()] if word.lower() in _WORDS else _parse(word)
    except (ValueError, RecursionError):
        return text
    if isinstance(parsed, float) and not math.isfinite(parsed):  # 1e999
        return text
    if isinstance(parsed, float) and parsed.is_integer() and "number" not in types:
        parsed = int(parsed)
    return parsed if types & _types_of(parsed) else text


def _parse(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _types(schema: JsonSchema) -> frozenset[str]:
    """The JSON types that the schema itself allows; all of them where it does not say."""
    if "type" in schema:
        named = schema["type"]
        types = frozenset([named] if isinstance(named, str) else named)
    elif "const" in schema:
        types = _types_of(schema["const"])
    elif "enum" in schema:
        types = frozenset[str]().union(*map(_types_of, schema["enum"]))
    else:
        return _ANY
    return types


def _types_of(value: Any) -> frozenset[str]:
    return frozenset({"object"}) if isinstance(value, Mapping) else _TYPES_OF[type(value)]


def _property(name: str, schema: JsonSchema) -> JsonSchema:
    properties = schema.get("properties", {})
    if name in properties:
        found: JsonSchema = properties[name]
        return found
    for pattern, found in schema.get("patternProperties", {}).items():
        if matches(pattern, name):
            return found
    rest = schema.get("additionalProperties")
    return rest if isinstance(rest, dict) else {}


def _item(index: int, schema: JsonSchema) -> JsonSchema:
    first = schema.get("prefixItems", ())
    if index < len(first):
        found: JsonSchema = first[index]
        return found
    rest = schema.get("items")
    return rest if isinstance(rest, dict) else {}
