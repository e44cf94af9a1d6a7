"""What the plugins contributed, by name, each entry with the plugin it came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from holodeck_backend_claude.imports import resolve

if TYPE_CHECKING:
    from pydantic import BaseModel

    from holodeck_backend_claude.config import ToolConfig
    from holodeck_backend_claude.hookspecs import (
        AdapterFactory,
        AdapterOverride,
        BackendType,
        ToolType,
    )

T = TypeVar("T")


@dataclass(frozen=True)
class Origin:
    """Where a contribution came from: plugin name, distribution and its version."""

    plugin: str
    distribution: str
    version: str

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}"


@dataclass(frozen=True)
class Provided(Generic[T]):
    """A contribution and its origin."""

    value: T
    origin: Origin


@dataclass
class Registry:
    """The backends and tool types of this process.

    Attributes:
        backends: By name.
        tool_types: By the tag used in agent.yaml.
        overrides: Adapters for a tool type on one backend, by ``(type, backend)``.
        instances: Ready tool instances by tool name, used instead of opening the tool.
    """

    backends: dict[str, Provided[BackendType]] = field(default_factory=dict)
    tool_types: dict[str, Provided[ToolType]] = field(default_factory=dict)
    overrides: dict[tuple[str, str], Provided[AdapterOverride]] = field(default_factory=dict)
    instances: Mapping[str, Any] = field(default_factory=dict)

    def with_instances(self, instances: Mapping[str, Any]) -> Registry:
        """The same registry, with tools that are open already."""
        return replace(self, instances=dict(instances))

    def config_model(self, tool_type: str) -> type[ToolConfig]:
        """The config class of a tool type; KeyError for an unknown one."""
        model: type[ToolConfig] = resolve(self.tool_types[tool_type].value.config)
        return model

    def adapter_factory(self, tool_type: str, backend: str) -> AdapterFactory:
        """The adapter of a tool type on a backend: its override there, or the neutral one."""
        override = self.overrides.get((tool_type, backend))
        chosen = override.value if override else self.tool_types[tool_type].value
        factory: AdapterFactory = resolve(chosen.adapter)
        return factory

    def settings_models(self) -> Iterator[tuple[str, type[BaseModel]]]:
        """``(settings_key, model)`` of every backend that has a block in agent.yaml."""
        for provided in self.backends.values():
            if provided.value.settings_key and provided.value.settings:
                yield provided.value.settings_key, resolve(provided.value.settings)
