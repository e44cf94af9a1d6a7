"""A tool's input schema as every client takes it: one root object, no references, valid."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from holodeck_backend_claude.calls.inlining import ANNOTATIONS, SchemaProblem, inline
from holodeck_backend_claude.contract import JsonSchema, PluginError

if TYPE_CHECKING:
    from pydantic import BaseModel

_REFUSED_AT_ROOT = (
    "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "enum", "const",
)  # fmt: skip
_KEYWORDS = frozenset(
    {"$ref", "$schema", "$id", "$defs", "$comment", "definitions", "required", "title",
     "description", "default", "examples", "additionalProperties", "patternProperties",
     "propertyNames", "unevaluatedProperties", "minProperties", "maxProperties",
     "dependentRequired", "dependentSchemas", "deprecated", "readOnly", "writeOnly",
     *_REFUSED_AT_ROOT}
)  # fmt: skip
_PARAMETER = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


class SchemaRefusedError(PluginError):
    """A tool's schema cannot be sent to a model; the text names the tool, the place and a remedy.

    Attributes:
        tool: The tool as the message names it.
        path: Where in the schema, e.g. ``$.properties.when``.
    """

    def __init__(self, tool: str, path: str, problem: str) -> None:
        super().__init__(f"{tool}: input schema at {path}: {problem}")
        self.tool = tool
        self.path = path


def check_schema(schema: object, *, tool: str) -> JsonSchema:
    """Return the schema in the form that every client takes; the given one is not changed.

    References are inlined, a recursive one three levels deep, then free-form. What older drafts
    wrote in another way is rewritten to 2020-12.

    Args:
        schema: A JSON Schema as parsed JSON.
        tool: The tool as messages name it.

    Raises:
        SchemaRefusedError: The schema cannot be brought into that form.
    """
    try:
        _check_is_schema(schema)
        root = _root_object(inline(schema))
        _check_parameters(root)
        _check_valid(root)
    except SchemaProblem as problem:
        raise SchemaRefusedError(tool, problem.path, problem.text) from problem
    return root


def model_schema(model: type[BaseModel], *, tool: str) -> JsonSchema:
    """The checked schema of a pydantic model's fields.

    Raises:
        SchemaRefusedError: A field has a type that JSON Schema cannot express; it is named.
    """
    from pydantic import PydanticUserError

    try:
        with warnings.catch_warnings():
            # a default that is no JSON value is left out, which is all there is to do about it
            warnings.simplefilter("ignore")
            schema = model.model_json_schema()
    except PydanticUserError as cause:
        path, why = _inexpressible_field(model, cause)
        raise SchemaRefusedError(
            tool,
            path,
            f"this type cannot be expressed in JSON Schema ({why}); use str, int, float, bool, "
            "list, dict, Literal, Enum, a dataclass or a pydantic model",
        ) from cause
    return check_schema(schema, tool=tool)


def _inexpressible_field(model: type[BaseModel], cause: Exception) -> tuple[str, str]:
    from pydantic import PydanticUserError, TypeAdapter

    for name, field in model.model_fields.items():
        try:
            TypeAdapter(field.rebuild_annotation()).json_schema()
        except PydanticUserError as error:
            return f"$.properties.{field.alias or name}", str(error).splitlines()[0]
    return "$", str(cause).splitlines()[0]


def _check_is_schema(schema: object) -> None:
    """Refuse what a client would take for something else, such as ``{"query": str}``."""
    if not isinstance(schema, Mapping):
        raise SchemaProblem(
            "$", f"must be a JSON Schema as a dict, not {schema!r:.80}; see model_schema()"
        )
    if "type" in schema or "properties" in schema:
        return
    unknown = [key for key in schema if key not in _KEYWORDS]
    if unknown:
        raise SchemaProblem(
            "$",
            f"{unknown[0]!r} is no keyword of JSON Schema; write a mapping of parameters as "
            "{'type': 'object', 'properties': {…}}",
        )


def _root_object(schema: Any) -> JsonSchema:
    if not isinstance(schema, dict):
        raise SchemaProblem("$", "the root must be an object: {'type': 'object', …}")
    root = _unwrapped(schema)
    for keyword in _REFUSED_AT_ROOT:
        if keyword in root:
            raise SchemaProblem(
                f"$.{keyword}",
                f"'{keyword}' at the root makes clients drop the tool; move it into a property, "
                "or list all properties and check the rest in the tool",
            )
    allowed = root.get("type", "object")
    if "object" not in (allowed if isinstance(allowed, list) else [allowed]):
        raise SchemaProblem(
            "$.type",
            f"a tool's arguments are an object, not {allowed!r}; put the value into a property",
        )
    # Without `type` and `properties` a client may take the schema for a mapping of types.
    return {**root, "type": "object", "properties": root.get("properties", {})}


def _unwrapped(schema: JsonSchema) -> JsonSchema:
    """Without a root ``anyOf``, ``oneOf`` or ``allOf`` of a single schema, which says nothing."""
    for keyword in ("allOf", "anyOf", "oneOf"):
        parts = schema.get(keyword)
        if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], dict):
            rest = {key: value for key, value in schema.items() if key != keyword}
            if all(
                key in ANNOTATIONS or parts[0].get(key, value) == value
                for key, value in rest.items()
            ):
                return _unwrapped({**parts[0], **rest})
    return schema


def _check_parameters(root: JsonSchema) -> None:
    properties = root["properties"]
    if not isinstance(properties, Mapping):
        raise SchemaProblem("$.properties", "must map the names of parameters to their schemas")
    for name in properties:
        if not _PARAMETER.fullmatch(name):
            raise SchemaProblem(
                f"$.properties.{name}",
                f"the parameter name {name!r} makes a model's API refuse the whole request; use "
                "1 to 64 letters, digits, '_', '.' or '-'",
            )


def _check_valid(root: JsonSchema) -> None:
    try:
        json.dumps(root, allow_nan=False).encode()
        Draft202012Validator.check_schema(root)
    except SchemaError as error:
        path = "".join(
            f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path
        )
        raise SchemaProblem(
            f"${path}", f"is not valid JSON Schema 2020-12: {error.message[:300]}"
        ) from error
    except (RecursionError, TypeError, ValueError) as error:
        raise SchemaProblem("$", f"is not plain JSON: {error}") from error
