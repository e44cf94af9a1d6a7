"""The scalars of YAML 1.1 that an agent file may hold: text, numbers, booleans and null."""

from __future__ import annotations

from typing import Any

import yaml

from holodeck_backend_claude.config.yaml.nodes import Scalar

TAG = "tag:yaml.org,2002:"
MERGE = TAG + "merge"

_AS_TEXT = {TAG + "str", TAG + "timestamp", TAG + "value", MERGE}
_resolver: Any = yaml.resolver.Resolver()
_constructor = yaml.constructor.SafeConstructor()
_CONSTRUCT: dict[str, Any] = {
    TAG + "null": lambda _node: None,
    TAG + "bool": _constructor.construct_yaml_bool,
    TAG + "int": _constructor.construct_yaml_int,
    TAG + "float": _constructor.construct_yaml_float,
}


def tag_of(event: yaml.ScalarEvent) -> str:
    """The tag a scalar has, or the one that its text implies where it stands without quotes."""
    if event.tag not in {None, "!"}:
        return str(event.tag)
    implicit = (event.implicit[0] and event.tag is None, True)
    return str(_resolver.resolve(yaml.ScalarNode, event.value, implicit))


def is_known(tag: str) -> bool:
    """Whether a scalar of this tag can be read."""
    return tag in _AS_TEXT or tag in _CONSTRUCT


def construct(text: str, tag: str) -> Scalar:
    """The value of a scalar; dates stay text.

    Raises:
        ValueError: The text is not what the tag says.
    """
    if tag in _AS_TEXT:
        return text
    try:
        value: Scalar = _CONSTRUCT[tag](yaml.ScalarNode(tag, text))
    except (LookupError, OverflowError) as cause:
        raise ValueError(str(cause)) from None
    return value
