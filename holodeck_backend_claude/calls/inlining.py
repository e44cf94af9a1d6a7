"""Rewriting a schema without references, boolean sub-schemas and the ways of older drafts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

LEVELS = 3
"""How often a recursive definition is unrolled on one path."""

_MOST_NODES = 5_000
_ONE_SCHEMA = frozenset(
    {"additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
     "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
)  # fmt: skip
_LIST_OF_SCHEMAS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_MAP_OF_SCHEMAS = frozenset({"dependentSchemas", "patternProperties", "properties"})
_DROPPED = frozenset(
    {"$anchor", "$comment", "$defs", "$dynamicAnchor", "$id", "$recursiveAnchor", "$schema",
     "$vocabulary", "definitions", "id"}
)  # fmt: skip
ANNOTATIONS = frozenset(
    {"default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"}
)


class SchemaProblem(Exception):  # noqa: N818 - turned into an error that knows the tool
    """What is wrong with a schema, and where."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(f"{path}: {text}")
        self.path = path
        self.text = text


def inline(schema: object) -> Any:
    """A copy of the schema with every ``$ref`` replaced by what it refers to.

    A recursive definition is unrolled :data:`LEVELS` deep, then free-form; fewer levels where
    the result would have more than 5,000 parts.

    Raises:
        SchemaProblem: A reference leads nowhere, or the schema is not plain JSON, or too large.
    """
    for levels in range(LEVELS, 0, -1):
        try:
            return _Inlining(schema, levels).schema(schema, "$", ())
        except _TooLargeError:
            continue
        except RecursionError as error:
            raise SchemaProblem("$", "is nested too deeply; flatten it") from error
    raise SchemaProblem(
        "$", f"has more than {_MOST_NODES} parts once its references are inlined; simplify it"
    )


class _TooLargeError(Exception):
    pass


class _Inlining:
    def __init__(self, document: object, levels: int) -> None:
        self._document = document
        self._levels = levels
        self._nodes = 0

    def schema(self, schema: object, path: str, refs: tuple[str, ...]) -> Any:
        """One schema; ``refs`` are the references that led here."""
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            raise _TooLargeError
        if schema is None or schema is True:
            return {}
        if schema is False:
            return {"not": {}}
        if not isinstance(schema, Mapping):
            raise SchemaProblem(path, f"must be a schema, not {schema!r:.80}")
        if "$ref" in schema:
            return self._reference(schema, path, refs)
        if "$dynamicRef" in schema or "$recursiveRef" in schema:
            raise SchemaProblem(path, "dynamic references cannot be inlined; use '$ref'")
        return self._keywords(schema, path, refs)

    def _reference(self, schema: Mapping[Any, Any], path: str, refs: tuple[str, ...]) -> Any:
        ref = schema["$ref"]
        target = self._target(ref, path)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        own = self._keywords(beside, path, refs)
        if refs.count(ref) >= self._levels:
            return {**_free_form(target), **own}
        inlined = self.schema(target, path, (*refs, ref))
        if all(key in ANNOTATIONS or key not in inlined for key in own):
            return {**inlined, **own}
        return {"allOf": [inlined, own]}

    def _target(self, ref: object, path: str) -> object:
        if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
            raise SchemaProblem(
                f"{path}.$ref", f"{ref!r} lies outside this schema; put it under '$defs'"
            )
        target: Any = self._document
        for part in ref.split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(target, Mapping) and key in target:
                target = target[key]
            elif isinstance(target, list) and key.isdecimal() and int(key) < len(target):
                target = target[int(key)]
            else:
                raise SchemaProblem(f"{path}.$ref", f"{ref!r} leads nowhere; define it")
        return target

    def _keywords(self, schema: Mapping[Any, Any], path: str, refs: tuple[str, ...]) -> Any:
        result: dict[str, Any] = {}
        for key, value in _modernised(schema).items():
            if not isinstance(key, str):
                raise SchemaProblem(path, f"the key {key!r} is not a string")
            if key in _DROPPED:
                continue
            result[key] = self._value(key, value, f"{path}.{key}", refs)
        return result

    def _value(self, key: str, value: Any, path: str, refs: tuple[str, ...]) -> Any:
        if key == "additionalProperties" and isinstance(value, bool):
            return value
        if key in _ONE_SCHEMA:
            return self.schema(value, path, refs)
        if key in _LIST_OF_SCHEMAS and isinstance(value, list | tuple):
            return [self.schema(item, f"{path}[{i}]", refs) for i, item in enumerate(value)]
        if key in _MAP_OF_SCHEMAS and isinstance(value, Mapping):
            return {
                str(name): self.schema(item, f"{path}.{name}", refs) for name, item in value.items()
            }
        return _plain(value, path)


def _free_form(target: object) -> dict[str, Any]:
    """What stands at the end of an unrolled recursion."""
    if isinstance(target, Mapping) and target.get("type") == "object":
        return {"type": "object", "description": "Nested further in the same way."}
    return {"description": "Nested further in the same way."}


def _plain(value: Any, path: str) -> Any:
    """A copy of a value that is plain JSON."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item, f"{path}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(item, f"{path}.{key}") for key, item in value.items()}
    raise SchemaProblem(path, f"{value!r:.80} is not a JSON value")


# ---------------------------------------------------------------------------------- older drafts


def _modernised(schema: Mapping[Any, Any]) -> dict[Any, Any]:
    """The keywords of draft 4 to 7 and of OpenAPI that 2020-12 writes in another way."""
    new = dict(schema)
    if isinstance(new.get("items"), list | tuple):
        new["prefixItems"] = new.pop("items")
        if "additionalItems" in new:
            new["items"] = new.pop("additionalItems")
    new.pop("additionalItems", None)
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(new.get(exclusive), bool) and new.pop(exclusive) and bound in new:
            new[exclusive] = new.pop(bound)
    if new.pop("nullable", False) is True and isinstance(new.get("type"), str):
        new["type"] = [new["type"], "null"]
    dependencies = new.pop("dependencies", None)
    if isinstance(dependencies, Mapping):
        required = {name: on for name, on in dependencies.items() if isinstance(on, list)}
        schemas = {name: on for name, on in dependencies.items() if not isinstance(on, list)}
        if required:
            new.setdefault("dependentRequired", required)
        if schemas:
            new.setdefault("dependentSchemas", schemas)
    return _without_foreign_pattern(new)


def _without_foreign_pattern(schema: dict[Any, Any]) -> dict[Any, Any]:
    """Tell a pattern that Python cannot compile in the description, as it cannot be checked."""
    pattern = schema.get("pattern")
    if not isinstance(pattern, str):
        return schema
    try:
        re.compile(pattern)
    except re.error:
        told = f"Must match the pattern {pattern}"
        described = schema.get("description")
        rest = {key: value for key, value in schema.items() if key != "pattern"}
        return {**rest, "description": f"{described} ({told})" if described else told}
    return schema
