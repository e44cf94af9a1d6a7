"""What the plugins contributed, each with the plugin it came from, and what a run is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from holodeck_backend_claude.contract import AskPermission, PluginError, ShowProgress
from holodeck_backend_claude.import_strings import resolve

if TYPE_CHECKING:
    from holodeck_backend_claude.hookspecs import (
        AdapterFactory,
        AdapterOverride,
        BackendType,
        RerankerType,
        ToolType,
    )

T = TypeVar("T")

NameKind: TypeAlias = Literal["backend", "provider", "tool", "settings", "adapter", "reranker"]
"""What a plugin can claim a name for."""


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


@dataclass(frozen=True)
class Absent:
    """A plugin that is installed but left out.

    Attributes:
        origin: The plugin.
        state: ``blocked`` or ``failed``.
        cause: Who blocked it, or why it failed.
        names: What it is known to provide; empty where it was never read.
    """

    origin: Origin
    state: Literal["blocked", "failed"]
    cause: str
    names: frozenset[tuple[NameKind, str]] = frozenset()

    def __str__(self) -> str:
        subject = f"the plugin {self.origin.plugin!r} of {self.origin}"
        if self.state == "blocked":
            return f"{subject} is {self.cause}"
        return f"{subject} failed: {self.cause}"


@dataclass(frozen=True)
class BackendChoice:
    """Which backend runs an agent, or what is missing for it.

    Attributes:
        kind: What decides: the ``backend`` that is named, or the ``provider`` of the model.
        name: The name that was asked for.
        provided: The backend; None where no loaded plugin brings it.
        known: The names of that kind there are, sorted.
        absent: The left-out plugin that would bring it, where that is known.
    """

    kind: Literal["backend", "provider"]
    name: str
    provided: Provided[BackendType] | None
    known: tuple[str, ...]
    absent: Absent | None


def _show_nowhere(_label: str, _done: int, _total: int) -> None:
    pass


@dataclass(frozen=True)
class Given:
    """What whoever runs an agent gives along, for the agent's backend and tools.

    Attributes:
        instances: Ready tool instances by tool name, used instead of opening the tool.
        progress: Told about long work of opening tools, from any thread.
        warm_clients: How many conversations a backend is to be ready for without a start, where
            the agent does not say it itself.
        ask_permission: Asked before a call that somebody has to agree to; None where nobody can
            be asked: such a call is then denied.
        side_effects: False to deny every call that changes something outside of the
            conversation: of the shell, of tools that write files, of destructive tools.
    """

    instances: Mapping[str, Any] = field(default_factory=dict)
    progress: ShowProgress = _show_nowhere
    warm_clients: int = 0
    ask_permission: AskPermission | None = None
    side_effects: bool = True


@dataclass
class Registry:
    """The backends and tool types of this process, and what one run of an agent is given.

    Attributes:
        backends: By name.
        tool_types: By the tag used in agent.yaml.
        overrides: Adapters for a tool type on one backend, by ``(type, backend)``.
        rerankers: By the provider that ``reranker_model`` names.
        absent: The plugins that are installed but left out, for the words of a refusal.
        given: What this run of an agent is given; no plugin contributes to it.
    """

    backends: dict[str, Provided[BackendType]] = field(default_factory=dict)
    tool_types: dict[str, Provided[ToolType]] = field(default_factory=dict)
    overrides: dict[tuple[str, str], Provided[AdapterOverride]] = field(default_factory=dict)
    rerankers: dict[str, Provided[RerankerType]] = field(default_factory=dict)
    absent: tuple[Absent, ...] = ()
    given: Given = Given()

    def with_instances(self, instances: Mapping[str, Any]) -> Registry:
        """The same registry, with tools that are open already."""
        return replace(self, given=replace(self.given, instances=dict(instances)))

    def with_progress(self, progress: ShowProgress) -> Registry:
        """The same registry, with somebody to tell how far the opening of tools is."""
        return replace(self, given=replace(self.given, progress=progress))

    def with_permissions(
        self, ask_permission: AskPermission | None, *, side_effects: bool = True
    ) -> Registry:
        """The same registry, with somebody to ask, and with or without side effects."""
        given = replace(self.given, ask_permission=ask_permission, side_effects=side_effects)
        return replace(self, given=given)

    def with_warm_clients(self, count: int) -> Registry:
        """The same registry, for a run that asks for conversations one after the other."""
        return replace(self, given=replace(self.given, warm_clients=count))

    def adapter_factory(self, tool_type: str, backend: str) -> AdapterFactory:
        """The adapter of a tool type on a backend: its override there, or the neutral one."""
        override = self.overrides.get((tool_type, backend))
        chosen = override or self.tool_types[tool_type]
        factory: AdapterFactory = _load(chosen, chosen.value.adapter)
        return factory

    def choose(self, backend: str | None, provider: str) -> BackendChoice:
        """The backend that runs an agent: the one that is named, else that of the provider.

        No other takes the place of one that is missing.

        Args:
            backend: What the agent or the command line names.
            provider: The agent's ``model.provider``.
        """
        if backend is not None:
            found = self.backends.get(backend)
            return self._choice("backend", backend, found, self.backends)
        providers = {p for each in self.backends.values() for p in each.value.providers}
        return self._choice("provider", provider, self.backend_for(provider), providers)

    def backend_for(self, provider: str) -> Provided[BackendType] | None:
        """The backend that runs ``model.provider: <provider>`` by default, or None."""
        for provided in self.backends.values():
            if provider in provided.value.providers:
                return provided
        return None

    def why_absent(self, kind: NameKind, name: str) -> Absent | None:
        """The left-out plugin that would provide ``name``, where that is known."""
        return next((absent for absent in self.absent if (kind, name) in absent.names), None)

    @property
    def unread(self) -> tuple[Absent, ...]:
        """The left-out plugins of which nothing is known, so that they may have what is missing."""
        return tuple(absent for absent in self.absent if not absent.names)

    def _choice(
        self,
        kind: Literal["backend", "provider"],
        name: str,
        provided: Provided[BackendType] | None,
        known: Iterable[str],
    ) -> BackendChoice:
        absent = None if provided else self.why_absent(kind, name)
        return BackendChoice(kind, name, provided, tuple(sorted(known)), absent)


def _load(provided: Provided[Any], reference: Any) -> Any:
    try:
        return resolve(reference)
    except PluginError as cause:
        origin = provided.origin
        raise PluginError(f"the plugin {origin.plugin!r} of {origin} {cause}") from cause
