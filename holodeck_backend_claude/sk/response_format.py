"""The response format as OpenAI's API takes it: in each request, strict where that can be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holodeck_backend_claude.contract import JsonSchema

_NAME = "answer"
# In strict mode the API refuses a request with any other keyword.
_STRICT_KEYWORDS = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "const", "title",
     "description", "anyOf", "$ref", "$defs"}
)  # fmt: skip


def as_request_field(schema: JsonSchema) -> dict[str, Any]:
    """What the request says in ``response_format``."""
    plain = {key: value for key, value in schema.items() if key not in ("$schema", "$id")}
    return {
        "type": "json_schema",
        "json_schema": {"name": _NAME, "schema": plain, "strict": _can_be_strict(plain)},
    }


def _can_be_strict(schema: Any) -> bool:
    """Whether every object is closed, every property required, and every keyword known."""
    if not isinstance(schema, Mapping) or not _STRICT_KEYWORDS.issuperset(schema):
        return False
    properties = schema.get("properties", {})
    if "object" in _types(schema) or properties:
        if schema.get("additionalProperties") is not False:
            return False
        if set(schema.get("required", ())) != set(properties):
            return False
    below = [*properties.values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", ())]
    if "items" in schema:
        below.append(schema["items"])
    return all(_can_be_strict(part) for part in below)


def _types(schema: Mapping[str, Any]) -> list[Any]:
    said = schema.get("type")
    return said if isinstance(said, list) else [said]
