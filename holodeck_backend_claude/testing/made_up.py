"""An answer made up from a schema alone: the smallest that is of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from holodeck_backend_claude.answer_schema import target_of
from holodeck_backend_claude.contract import JsonSchema
from holodeck_backend_claude.json_schema import UncheckableError, is_valid, time_limit

TEXT = "offline"
"""What a text of the answer says where the schema leaves it open."""

_DEEPEST = 20
_MOST_TRIED = 50
_MOST_ITEMS = 100
_LONGEST_TEXT = 10_000
_DEFINITIONS = ("$schema", "$defs", "definitions")


def made_up(schema: JsonSchema) -> Any:
    """The smallest value of a schema that is easily found, or None where there is none.

    Defaults, examples and the first of several choices are taken; nothing is searched for, so
    that a schema with, say, a ``pattern`` may get none.
    """
    try:
        with time_limit():
            return next(_Maker(schema).values(schema, 0), None)
    except UncheckableError:
        return None


class _Maker:
    def __init__(self, root: JsonSchema) -> None:
        self._root = root
        self._shared = {key: root[key] for key in _DEFINITIONS if key in root}

    def values(self, schema: Any, depth: int) -> Iterator[Any]:
        """Values of a part of the schema, the plainest first."""
        if not isinstance(schema, Mapping):
            yield from [TEXT] if schema is True else []
        elif depth < _DEEPEST:
            whole = {**self._shared, **schema}
            tried = islice(self._candidates(schema, depth + 1), _MOST_TRIED)
            yield from (value for value in tried if is_valid(value, whole))

    def _candidates(self, schema: Mapping[str, Any], depth: int) -> Iterator[Any]:
        if "const" in schema:
            yield schema["const"]
        if "default" in schema:
            yield schema["default"]
        yield from schema.get("examples", ())
        yield from schema.get("enum", ())
        yield from self._of_others(schema, depth)
        said = schema.get("type", ["object" if "properties" in schema else "string"])
        for kind in [said] if isinstance(said, str) else said:
            yield from self._of_kind(kind, schema, depth)

    def _of_others(self, schema: Mapping[str, Any], depth: int) -> Iterator[Any]:
        """Values of what the schema refers to, or is composed of."""
        if isinstance(reference := schema.get("$ref"), str):
            yield from self.values(target_of(reference, self._root), depth)
        for keyword in ("anyOf", "oneOf"):
            for choice in schema.get(keyword, ()):
                rest = {key: value for key, value in schema.items() if key != keyword}
                yield from self.values(_both(rest, choice), depth)
        if parts := schema.get("allOf"):
            merged: Mapping[str, Any] = {k: v for k, v in schema.items() if k != "allOf"}
            for part in parts:
                merged = _both(merged, part)
            yield from self.values(merged, depth)

    def _of_kind(self, kind: str, schema: Mapping[str, Any], depth: int) -> Iterator[Any]:
        match kind:
            case "object":
                yield from self._objects(schema, depth)
            case "array":
                yield from self._arrays(schema, depth)
            case "string":
                size = max(len(TEXT), min(schema.get("minLength", 0), _LONGEST_TEXT))
                size = min(size, schema.get("maxLength", size))
                yield (TEXT * (size // len(TEXT) + 1))[:size]
            case "integer" | "number":
                yield from _numbers(schema)
            case "boolean":
                yield from (False, True)
            case "null":
                yield None

    def _objects(self, schema: Mapping[str, Any], depth: int) -> Iterator[Any]:
        properties = schema.get("properties", {})
        required = [*schema.get("required", ())]
        for names in (required, list(dict.fromkeys([*required, *properties]))):
            made: dict[str, Any] = {}
            for name in names:
                below = properties.get(name, schema.get("additionalProperties", True))
                for value in islice(self.values(below, depth), 1):
                    made[name] = value
            yield made

    def _arrays(self, schema: Mapping[str, Any], depth: int) -> Iterator[Any]:
        first, rest = schema.get("prefixItems", []), schema.get("items", True)
        count = max(schema.get("minItems", 0), 1 if "contains" in schema else 0)
        parts = [*first, *[rest] * _MOST_ITEMS][: min(count, _MOST_ITEMS)]
        made = [next(self.values(part, depth), None) for part in parts]
        yield made
        if "contains" in schema:
            yield [next(self.values(schema["contains"], depth), None), *made[1:]]


def _numbers(schema: Mapping[str, Any]) -> Iterator[float]:
    yield 0
    step = schema.get("multipleOf", 1)
    for keyword, away in (
        ("minimum", 0),
        ("maximum", 0),
        ("exclusiveMinimum", step),
        ("exclusiveMaximum", -step),
    ):
        bound = schema.get(keyword)
        if isinstance(bound, int | float) and not isinstance(bound, bool):
            yield bound + away
            yield (bound // step + (away >= 0)) * step
    low, high = (schema.get(f"exclusive{m}", schema.get(m.lower())) for m in ("Minimum", "Maximum"))
    if isinstance(low, int | float) and isinstance(high, int | float):
        yield (low + high) / 2


def _both(one: Mapping[str, Any], other: Any) -> Mapping[str, Any]:
    """A schema that says what both say, as far as that can be said in one."""
    if not isinstance(other, Mapping):
        return one
    merged = {**one, **other}
    if "properties" in one and "properties" in other:
        merged["properties"] = {**one["properties"], **other["properties"]}
    if "required" in one and "required" in other:
        merged["required"] = list(dict.fromkeys([*one["required"], *other["required"]]))
    return merged
