"""What a hook returned, checked field by field, so that no broken description gets further."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from holodeck_backend_claude.contract import PluginError
from holodeck_backend_claude.hookspecs import AdapterOverride, BackendType, RerankerType, ToolType
from holodeck_backend_claude.import_strings import is_import_string
from holodeck_backend_claude.plugins.hooks import Hooks

T = TypeVar("T")

_TAG = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")

AGENT_KEYS = frozenset(
    {"name", "description", "model", "instructions", "tools", "embedding_provider", "execution",
     "backend", "plugins", "observability", "response_format"}
)  # fmt: skip
"""The keys of agent.yaml that are the core's own and no backend's block."""


@dataclass(frozen=True)
class Contribution:
    """Everything one plugin brings."""

    backends: tuple[BackendType, ...] = ()
    tool_types: tuple[ToolType, ...] = ()
    overrides: tuple[AdapterOverride, ...] = ()
    rerankers: tuple[RerankerType, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.backends or self.tool_types or self.overrides or self.rerankers)

    def lines(self) -> tuple[str, ...]:
        """Each thing it brings in a few words, as the listing shows it."""
        return (
            *(f"backend {backend.name}" for backend in self.backends),
            *(f"tool {tool.type}" for tool in self.tool_types),
            *(f"adapter {override.type} on {override.backend}" for override in self.overrides),
            *(f"reranker {reranker.provider}" for reranker in self.rerankers),
        )


def read_contribution(plugin: object, hooks: Hooks) -> Contribution:
    """Call the hooks of a plugin and check what they return.

    Raises:
        PluginError: A hook raised, or returned something that is no sound description.
    """
    with hooks.of(plugin):
        backends = _described("holodeck_register_backend", hooks.register_backend(), (BackendType,))
        tools = _described("holodeck_adapt_tool", hooks.adapt_tool(), (ToolType, AdapterOverride))
        rerankers = _described(
            "holodeck_register_reranker", hooks.register_reranker(), (RerankerType,)
        )
    for backend in backends:
        _check_backend(backend)
    tool_types = tuple(each for each in tools if isinstance(each, ToolType))
    overrides = tuple(each for each in tools if isinstance(each, AdapterOverride))
    for tool_type in tool_types:
        _check_tool_type(tool_type)
    for override in overrides:
        _check_override(override)
    for reranker in rerankers:
        _check_reranker(reranker)
    return Contribution(tuple(backends), tool_types, overrides, tuple(rerankers))


def _described(hook: str, answers: Sequence[object], kinds: tuple[type[T], ...]) -> list[T]:
    items: list[T] = []
    for item in _flat(hook, answers):
        if not isinstance(item, kinds):
            expected = " or ".join(kind.__name__ for kind in kinds)
            raise PluginError(
                f"{hook} returned {_short(item)}; it may return {expected}, or a list of them"
            )
        items.append(item)
    return items


def _flat(hook: str, answers: Sequence[object]) -> Iterator[object]:
    for answer in answers:
        if inspect.iscoroutine(answer):
            answer.close()
            raise PluginError(f"{hook} is an async function; hooks are plain functions")
        if isinstance(answer, list | tuple):
            yield from answer
        else:
            yield answer


def _check_backend(backend: BackendType) -> None:
    label = f"BackendType({_short(backend.name)})"
    _check_tag(label, "name", backend.name)
    if isinstance(backend.providers, str) or not isinstance(backend.providers, Sequence):
        raise PluginError(f"{label}: providers is {_short(backend.providers)}, not a list of names")
    for provider in backend.providers:
        _check_tag(label, "a provider", provider)
    _check_loadable(label, "factory", backend.factory)
    _check_flag(label, backend.replaces)
    if backend.sessions is not None:
        _check_loadable(label, "sessions", backend.sessions)
    if (backend.settings_key is None) != (backend.settings is None):
        raise PluginError(f"{label}: give both settings_key and settings, or neither")
    if backend.settings_key is None:
        return
    _check_tag(label, "settings_key", backend.settings_key)
    if backend.settings_key in AGENT_KEYS:
        raise PluginError(
            f"{label}: settings_key {backend.settings_key!r} is a key of agent.yaml that is "
            "not a backend's; choose another"
        )
    _check_loadable(label, "settings", backend.settings, _is_pydantic_model, "a pydantic model")


def _check_tool_type(tool: ToolType) -> None:
    label = f"ToolType({_short(tool.type)})"
    _check_tag(label, "type", tool.type)
    _check_loadable(label, "config", tool.config, _is_tool_config, "a subclass of ToolConfig")
    _check_loadable(label, "adapter", tool.adapter)
    if tool.open is not None:
        _check_loadable(label, "open", tool.open)
    if tool.instructions is not None:
        _check_loadable(label, "instructions", tool.instructions)
    _check_flag(label, tool.replaces)


def _check_override(override: AdapterOverride) -> None:
    label = f"AdapterOverride({_short(override.type)}, {_short(override.backend)})"
    _check_tag(label, "type", override.type)
    _check_tag(label, "backend", override.backend)
    _check_loadable(label, "adapter", override.adapter)


def _check_reranker(reranker: RerankerType) -> None:
    label = f"RerankerType({_short(reranker.provider)})"
    _check_tag(label, "provider", reranker.provider)
    _check_loadable(label, "open", reranker.open)
    _check_flag(label, reranker.replaces)


def _check_tag(label: str, field: str, value: object) -> None:
    if not isinstance(value, str) or not _TAG.fullmatch(value):
        raise PluginError(
            f"{label}: {field} is {_short(value)}; it takes 1 to 64 of the characters "
            "a-z, 0-9, '_', '-' and '.', with a letter or digit at both ends"
        )


def _check_loadable(
    label: str,
    field: str,
    value: object,
    accepts: Callable[[object], bool] = callable,
    wanted: str = "a callable",
) -> None:
    if isinstance(value, str):
        if not is_import_string(value):
            raise PluginError(
                f"{label}: {field} {value!r} is not an import string; "
                "write it as 'package.module:attribute'"
            )
    elif not accepts(value):
        raise PluginError(
            f"{label}: {field} is {_short(value)}, which is neither {wanted} nor an import string"
        )


def _check_flag(label: str, value: object) -> None:
    if not isinstance(value, bool):
        raise PluginError(f"{label}: replaces is {_short(value)}, not True or False")


def _is_pydantic_model(value: object) -> bool:
    return isinstance(value, type) and hasattr(value, "model_validate")


def _is_tool_config(value: object) -> bool:
    """Asks without importing: whoever made a subclass has imported the base already."""
    models = sys.modules.get("holodeck_backend_claude.config.tool_models")
    return isinstance(value, type) and models is not None and issubclass(value, models.ToolConfig)


def _short(value: object) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001  # a broken __repr__ is the plugin's
        text = f"an object of {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."
