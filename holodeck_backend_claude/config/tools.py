"""``tools:`` of an agent file: each tool read by the config class of its type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holodeck_backend_claude.config import upstream_keys
from holodeck_backend_claude.config.agent_reader import Reading
from holodeck_backend_claude.config.problems import DataPath, did_you_mean, listed, shorten
from holodeck_backend_claude.config.root_keys import from_plugins
from holodeck_backend_claude.config.tool_models import ToolConfig
from holodeck_backend_claude.config.yaml.nodes import type_name
from holodeck_backend_claude.contract import PluginError
from holodeck_backend_claude.import_strings import resolve

if TYPE_CHECKING:
    from holodeck_backend_claude.hookspecs import ToolType
    from holodeck_backend_claude.registry import Registry

MAX_TOOLS = 1_000


def read_tools(reading: Reading, registry: Registry) -> list[ToolConfig]:
    """The valid tools of the file; what is wrong with the others is reported."""
    node = reading.node(("tools",))
    if node is None or node.value is None:
        return []
    if not isinstance(node.value, list):
        reading.error(
            ("tools",),
            f"must be a list of tools, not {type_name(node.value)}",
            hint="each tool begins with '- ' on a line of its own",
        )
        return []
    tools = (_read_tool(reading, registry, ("tools", n)) for n in range(len(node.value)))
    return [tool for tool in tools if tool is not None]


def _read_tool(reading: Reading, registry: Registry, path: DataPath) -> ToolConfig | None:
    data = reading.data(path)
    if not isinstance(data, dict):
        reading.error(path, f"a tool is a mapping, not {type_name(data)}", hint=_types(registry))
        return None
    tag = data.get("type")
    if "type" not in data:
        reading.error((*path, "type"), "the key 'type' is missing", hint=_types(registry))
        return None
    if not isinstance(tag, str):
        reading.error((*path, "type"), f"must be text, not {type_name(tag)}", hint=_types(registry))
        return None
    if tag not in registry.tool_types:
        _unknown_type(reading, registry, (*path, "type"), tag)
        return None
    return _validated(reading, registry, path, data)


def _validated(
    reading: Reading, registry: Registry, path: DataPath, data: dict[str, Any]
) -> ToolConfig | None:
    provided = registry.tool_types[data["type"]]
    try:
        model = _model(provided.value)
    except PluginError as cause:
        hint = f"this is a fault of {provided.origin}"
        reading.error((*path, "type"), str(cause), hint=hint)
        return None
    if str(data.get("name")) not in registry.given.instances:  # an open tool needs no source
        reading.check_paths(model, path, data)
    return reading.validate(model, path, data, origin=str(provided.origin))


def _model(tool_type: ToolType) -> type[ToolConfig]:
    model = resolve(tool_type.config)
    if not (isinstance(model, type) and issubclass(model, ToolConfig)):
        raise PluginError(
            f"the config of the tool type {tool_type.type!r}, {model!r}, is not a subclass of "
            "holodeck_backend_claude.config.ToolConfig"
        )
    return model


def _unknown_type(reading: Reading, registry: Registry, path: DataPath, tag: str) -> None:
    absent = registry.why_absent("tool", tag)
    if absent:
        message = f"the tool type {tag!r} is not loaded: {absent}"
    elif tag in upstream_keys.TOOL_TYPES:
        message = f"this version does not have the tool type {tag!r}"
    else:
        message = f"unknown tool type {shorten(tag)}{did_you_mean(tag, registry.tool_types)}"
    reading.error(path, message, hint=_types(registry))


def _types(registry: Registry) -> str:
    known = listed(registry.tool_types)
    return f"known tool types: {known}; a plugin may provide more: {from_plugins(registry)}"
