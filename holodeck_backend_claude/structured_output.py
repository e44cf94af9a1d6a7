"""Structured answers: the schema of a response format, and an answer held against it.

Both backends ask their model for an answer of that form in their own way; what comes back is
read and validated here, so that an answer is either of the form or an error that says why not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from holodeck_backend_claude import outcomes
from holodeck_backend_claude.contract import ConfigError, ExecutionResult, JsonSchema

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

SchemaPath: TypeAlias = tuple[str | int, ...]
"""Where in a schema: ``("properties", "city", "type")``."""

MAX_SCHEMA_BYTES = 100_000
"""The longest schema as JSON: Claude Code takes it as one argument, and Linux bounds that."""

_REFUSED_AT_ROOT = ("anyOf", "oneOf", "allOf", "$ref", "not", "if", "enum", "const")
_WHOLE_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)\n?```", re.DOTALL)
_LONGEST_WHY = 300


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
    _check_size(schema)
    try:
        _validator_class(schema).check_schema(schema)
    except SchemaError as error:
        problem = f"it is not valid JSON Schema: {error.message[:_LONGEST_WHY]}"
        raise ResponseFormatError(tuple(error.absolute_path), problem) from error
    _check_references(schema, schema, ())
    return schema


def hold_against(
    result: ExecutionResult, schema: JsonSchema, given: object = None
) -> ExecutionResult:
    """The result of a turn whose answer has to be of a form, held against it.

    Args:
        result: The turn; one that failed stays as it is.
        schema: The form.
        given: The structured answer, where the model gave it apart from its text.

    Returns:
        The result with ``structured_output`` and its JSON as ``response``; or a failed one.
    """
    if result.is_error:
        return result
    candidates = list(_candidates(schema, given, result.response))
    if not candidates:
        return outcomes.failed(result, outcomes.STRUCTURED_MISSING, _said(result.response))
    for candidate in candidates:
        if problem_of(candidate, schema) is None:
            return replace(result, structured_output=candidate, response=as_text(candidate))
    why = problem_of(candidates[0], schema) or ""
    return outcomes.failed(result, outcomes.structured_invalid(why))


def problem_of(value: Any, schema: JsonSchema) -> str | None:
    """Why a value is not of the form, or None where it is."""
    from jsonschema.exceptions import best_match

    error = best_match(_validator_class(schema)(schema).iter_errors(value))
    if error is None:
        return None
    place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.absolute_path)
    text = error.message
    if len(text) > _LONGEST_WHY:
        text = f"{text[:_LONGEST_WHY]}…"
    return f"{place.lstrip('.')}: {text}" if place else text


def as_text(value: object) -> str:
    """A structured answer as the text of an answer."""
    return json.dumps(value, ensure_ascii=False)


def _candidates(schema: JsonSchema, given: object, text: str) -> Iterator[Any]:
    """What may be the answer, the likeliest first."""
    values: list[Any] = [given] if given is not None else list(_json_in(text))
    for value in values:
        yield value
        # some models put the answer into a single property of their own
        if isinstance(value, dict) and len(value) == 1:
            [(key, inner)] = value.items()
            if key not in schema.get("properties", {}):
                yield from _json_in(inner) if isinstance(inner, str) else (inner,)


def _json_in(text: str) -> Iterator[Any]:
    """The value that the whole text is, bare or in a code fence; prose around it is no answer."""
    bare = text.strip()
    fenced = _WHOLE_FENCE.fullmatch(bare)
    try:
        yield json.loads(fenced[1] if fenced else bare)
    except (ValueError, RecursionError):
        return


def _said(text: str) -> str | None:
    shown = " ".join(text.split())
    return f"the model answered in words: {shown[:200]}" if shown else None


def _validator_class(schema: Mapping[str, Any]) -> type[Validator]:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for

    chosen: type[Validator] = validator_for(schema, default=Draft202012Validator)
    return chosen


def _check_size(schema: JsonSchema) -> None:
    try:
        size = len(json.dumps(schema, allow_nan=False).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise ResponseFormatError((), f"it is not plain JSON: {error}") from error
    if size > MAX_SCHEMA_BYTES:
        raise ResponseFormatError(
            (), f"it is {size:,} bytes of JSON, and {MAX_SCHEMA_BYTES:,} are allowed; simplify it"
        )


def _check_references(part: object, root: JsonSchema, path: SchemaPath) -> None:
    """Refuse a reference that leads out of the schema, or nowhere."""
    if isinstance(part, Mapping):
        reference = part.get("$ref")
        if isinstance(reference, str) and not _leads_somewhere(reference, root):
            raise ResponseFormatError(
                (*path, "$ref"), f"{reference!r} leads nowhere; define it under '$defs'"
            )
        for key, below in part.items():
            if key not in ("enum", "const", "default", "examples"):
                _check_references(below, root, (*path, key))
    elif isinstance(part, Sequence) and not isinstance(part, str):
        for index, below in enumerate(part):
            _check_references(below, root, (*path, index))


def _leads_somewhere(reference: str, root: JsonSchema) -> bool:
    if not (reference == "#" or reference.startswith("#/")):
        return False
    target: Any = root
    for step in reference.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(target, list) and key.isdecimal() and int(key) < len(target):
            target = target[int(key)]
        elif isinstance(target, Mapping) and key in target:
            target = target[key]
        else:
            return False
    return True
