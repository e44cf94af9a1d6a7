"""The response format as Claude Code takes it: a schema that its own validator understands.

Claude Code offers the model a tool ``StructuredOutput`` with the schema, and checks each call of
it. Its validator knows draft 7: of a schema that says more, an older program leaves the tool out
without a word, and a newer one does not start. So it gets what it understands, the rest is told
to the model in descriptions, and the answer is held against the whole schema here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from holodeck_backend_claude.contract import JsonSchema

STRUCTURED_OUTPUT_TOOL = "StructuredOutput"
"""The name of that tool on the wire."""

_VALUES = frozenset(
    {"type", "required", "enum", "const", "title", "description", "default", "examples", "$ref",
     "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
     "maxLength", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"}
)  # fmt: skip
_ONE_SCHEMA = frozenset({"additionalProperties", "items", "propertyNames", "contains"})
_SCHEMAS = frozenset({"allOf", "anyOf", "oneOf"})
_NAMED_SCHEMAS = frozenset({"properties", "$defs", "definitions"})
# What would forbid more than it does if the keyword that belongs to it were left out.
_BELONGS_TO = {
    "items": "prefixItems",
    "contains": "minContains",
    "additionalProperties": "patternProperties",
}
_UNSAID = re.compile(r"\$|x-|deprecated$|readOnly$|writeOnly$|content")
# What a regular expression means the same with in every dialect.
_PLAIN_PATTERN = re.compile(r"(?:[^\\(]|\\[dDwWsSbB.^$*+?()\[\]{}|/\\]|\((?!\?)|\(\?[:=!])*")


def output_options(schema: JsonSchema | None) -> dict[str, Any]:
    """The field of ``ClaudeAgentOptions`` that asks for an answer of this form, if there is one."""
    if schema is None:
        return {}
    return {"output_format": {"type": "json_schema", "schema": understood(schema)}}


def understood(schema: JsonSchema) -> JsonSchema:
    """The schema without what Claude Code does not understand; it allows the same or more."""
    simple: JsonSchema = _simplified(schema)
    return simple


def _simplified(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return schema  # true, false
    kept: dict[str, Any] = {}
    told: list[str] = []
    for keyword, value in schema.items():
        if _is_understood(keyword, value):
            kept[keyword] = value
        elif keyword in _ONE_SCHEMA and not _is_tied(keyword, schema):
            kept[keyword] = _simplified(value)
        elif keyword in _NAMED_SCHEMAS or (
            keyword == "patternProperties" and _has_plain_patterns(value)
        ):
            kept[keyword] = {name: _simplified(below) for name, below in value.items()}
        elif keyword in _SCHEMAS:
            _add_alternatives(kept, keyword, [_simplified(below) for below in value], value)
        elif not _UNSAID.match(keyword):
            told.append(f"{keyword}: {json.dumps(value, ensure_ascii=False)}")
    if told:
        kept["description"] = " ".join(
            [*filter(None, [kept.get("description")]), f"({'; '.join(told)})"]
        )
    return kept


def _is_tied(keyword: str, schema: Mapping[str, Any]) -> bool:
    other = _BELONGS_TO.get(keyword, "")
    if other == "patternProperties" and _has_plain_patterns(schema.get(other, {})):
        return False
    return other in schema or isinstance(schema[keyword], list)


def _has_plain_patterns(named: Mapping[str, Any]) -> bool:
    return all(_PLAIN_PATTERN.fullmatch(pattern) for pattern in named)


def _is_understood(keyword: str, value: Any) -> bool:
    if keyword == "pattern":
        return _PLAIN_PATTERN.fullmatch(value) is not None
    if keyword.startswith("exclusive") and isinstance(value, bool):
        return False  # as draft 4 has it
    return keyword in _VALUES


def _add_alternatives(
    kept: dict[str, Any], keyword: str, simple: list[Any], original: list[Any]
) -> None:
    # Exactly one of several: of two that were told apart by what is left out, both may now fit.
    loosened = keyword == "oneOf" and simple != original and "anyOf" not in kept
    if keyword == "oneOf" and simple != original and not loosened:
        return
    kept["anyOf" if loosened else keyword] = simple
