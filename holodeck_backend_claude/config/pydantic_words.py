"""Plain words for what pydantic says about a value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from holodeck_backend_claude.config.model_fields import example_at, is_secret, keys_at
from holodeck_backend_claude.config.problems import DataPath, did_you_mean, listed, shorten
from holodeck_backend_claude.config.upstream_keys import is_published
from holodeck_backend_claude.config.yaml.nodes import Node, type_name

_TYPES = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a smaller whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "none_required": "left out",
}
_LIMITS = {
    "greater_than": ("greater than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
    "multiple_of": ("a multiple of", "multiple_of"),
}
_LENGTHS = {
    "string_too_short": ("at least {min_length} characters long"),
    "string_too_long": ("at most {max_length} characters long"),
    "too_short": ("a list of at least {min_length} items"),
    "too_long": ("a list of at most {max_length} items"),
}


@dataclass(frozen=True)
class Wording:
    """What to say about one value.

    Attributes:
        path: The value, below the model that was validated.
        at_key: True where the key is meant and not the value.
        message: What is wrong.
        hint: What to do.
    """

    path: DataPath
    at_key: bool
    message: str
    hint: str | None = None


def explain(error: ErrorDetails, model: type[BaseModel], node: Node, base: DataPath) -> Wording:
    """Put one pydantic error into words.

    Args:
        error: As ``ValidationError.errors()`` lists it.
        model: What was validated against.
        node: What was validated, as the file has it.
        base: Where ``node`` stands in the file.
    """
    kind = error["type"]
    path = _path(error["loc"], node)
    if kind == "missing":
        key = str(error["loc"][-1])
        example = example_at(model, (*path, key))
        hint = f"such as '{key}: {example}'" if example else None
        return Wording((*path, key), True, f"the key {key!r} is missing", hint)
    if kind == "extra_forbidden":
        return _unknown_key(path, model, base)
    found = node.find(path)
    secret = is_secret(model, (*base, *path))
    return _wrong_value(error, path, _shown(found, secret=secret), _hint(kind, model, path, found))


def unknown_key(key: str, known: list[str]) -> tuple[str, str | None]:
    """Message and hint for a key that no one reads."""
    return (
        f"unknown key {shorten(key)}{did_you_mean(key, known)}",
        f"keys here: {listed(known)}" if known else None,
    )


def not_in_this_version(key: str) -> tuple[str, str]:
    """Message and hint for a key of the published schema that nothing here reads yet."""
    return (
        f"this version does not have the key {key!r}",
        "remove it, so that nothing in the file is without effect",
    )


def _unknown_key(path: DataPath, model: type[BaseModel], base: DataPath) -> Wording:
    key = str(path[-1])
    if is_published((*base, *path)):
        return Wording(path, True, *not_in_this_version(key))
    return Wording(path, True, *unknown_key(key, keys_at(model, path[:-1])))


def _path(loc: tuple[int | str, ...], node: Node) -> DataPath:
    """The steps of ``loc`` that the file has; pydantic adds names of types to some."""
    path: list[int | str] = []
    current = node
    for step in loc:
        below = current.child(step)
        if below is not None:
            path.append(step)
            current = below
    return tuple(path)


def _wrong_value(error: ErrorDetails, path: DataPath, shown: str, hint: str | None) -> Wording:
    kind, context = error["type"], error.get("ctx", {})
    if kind in {"literal_error", "enum"}:
        return Wording(path, False, *_choice(context, shown))
    if kind in {"value_error", "assertion_error"}:
        return Wording(path, True, str(context.get("error", "")) or error["msg"], hint)
    expected = _expected(kind, context)
    if expected:
        return Wording(path, False, f"must be {expected}{shown}", hint)
    said = re.sub(r"^(Input|Value|String|Data) should (be|have|match)", r"must \2", error["msg"])
    return Wording(path, False, said, hint)


def _expected(kind: str, context: Mapping[str, Any]) -> str | None:
    if kind in _LIMITS:
        words, key = _LIMITS[kind]
        return f"{words} {_number(context[key])}"
    if kind == "string_too_short" and context.get("min_length") == 1:
        return "text that is not blank"
    if kind in _LENGTHS:
        return _LENGTHS[kind].format_map(context)
    return _TYPES.get(kind)


def _choice(context: Mapping[str, Any], shown: str) -> tuple[str, str | None]:
    expected = str(context.get("expected", ""))
    guess = did_you_mean(
        shown.removeprefix(", not ").strip("'\""), re.findall(r"'([^']*)'", expected)
    )
    return f"must be {expected}{shown}{guess}", None


def _shown(node: Node | None, *, secret: bool) -> str:
    """``, not 'x'``: the value as the file has it, never a secret, never an expanded variable."""
    if node is None:
        return ""
    if node.written is None or node.value is None:
        return f", not {type_name(node.value)}"
    if isinstance(node.value, str):
        return "" if secret else f", not {shorten(node.written)}"
    if secret:
        return f", not {type_name(node.value)}"
    kind = " (in YAML that is true or false)" if isinstance(node.value, bool) else ""
    return f", not {node.written}{kind}"


def _hint(kind: str, model: type[BaseModel], path: DataPath, node: Node | None) -> str | None:
    if kind == "string_type" and node and isinstance(node.value, bool | int | float):
        return "put it in quotes"
    if kind in {"model_type", "model_attributes_type"} and path:
        return _keys_hint(model, path, node)
    if kind in {"list_type", "tuple_type"}:
        hint = "each item begins with '- ' on a line of its own"
        return f"{hint}; or write [{node.written}]" if node and node.written else hint
    if kind in {"bool_type", "bool_parsing"} and path:
        return f"write '{path[-1]}: true' or '{path[-1]}: false'"
    if kind in {"int_type", "float_type"} and node and isinstance(node.value, bool):
        return "give a number, or remove the key"
    return None


def _keys_hint(model: type[BaseModel], path: DataPath, node: Node | None) -> str:
    keys = keys_at(model, path)
    example = example_at(model, path, node.value if node else None)
    if example is None:
        return f"it has the keys: {listed(keys)}"
    label = f"{path[-1]}: " if isinstance(path[-1], str) else ""
    return f"such as '{label}{example}'; the keys it may have: {listed(keys)}"


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
