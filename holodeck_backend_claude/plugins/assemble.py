"""From the plugins that were read to one registry, with what clashes left out whole."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from holodeck_backend_claude.hookspecs import AdapterOverride
from holodeck_backend_claude.plugins.claims import Candidate, clashes
from holodeck_backend_claude.registry import Provided, Registry


@dataclass
class Assembly:
    """What came together.

    Attributes:
        registry: The contributions of the plugins that got in.
        refused: The plugins that did not, each with the reason.
        warnings: What a plugin that got in should know, by plugin.
    """

    registry: Registry
    refused: dict[Candidate, str]
    warnings: dict[Candidate, list[str]] = field(default_factory=lambda: defaultdict(list))


def assemble(candidates: Sequence[Candidate], *, some_missing: bool) -> Assembly:
    """Settle all names and build the registry.

    Args:
        candidates: Every plugin that was read, the defaults first.
        some_missing: Whether other plugins were left out unread. An adapter for a type or
            backend nobody here knows is then kept out with a warning: the one it is for may be
            among those. Otherwise it is a mistake, and its plugin is refused.
    """
    refused = clashes(candidates)
    assembly, aimless = _build(candidates, refused)
    if aimless and not (some_missing or refused):
        refused = dict(reversed(aimless))
        assembly, aimless = _build(candidates, refused)
    for candidate, problem in aimless:
        assembly.warnings[candidate].append(f"{problem}; it has no effect")
    return assembly


def _build(
    candidates: Sequence[Candidate], refused: dict[Candidate, str]
) -> tuple[Assembly, list[tuple[Candidate, str]]]:
    accepted = [each for each in candidates if each not in refused]
    assembly = Assembly(_registered(accepted), refused)
    return assembly, _place_overrides(accepted, assembly)


def _registered(candidates: Sequence[Candidate]) -> Registry:
    registry = Registry()
    for candidate in sorted(candidates, key=lambda each: not each.source.built_in):
        origin = candidate.source.origin
        for backend in candidate.contribution.backends:
            _free_providers(registry, set(backend.providers))
            registry.backends[backend.name] = Provided(backend, origin)
        for tool in candidate.contribution.tool_types:
            registry.tool_types[tool.type] = Provided(tool, origin)
        for reranker in candidate.contribution.rerankers:
            registry.rerankers[reranker.provider] = Provided(reranker, origin)
    return registry


def _free_providers(registry: Registry, taken: set[str]) -> None:
    """A provider runs on one backend: who takes it over leaves the former one without it."""
    for name, provided in registry.backends.items():
        left = tuple(each for each in provided.value.providers if each not in taken)
        if len(left) < len(provided.value.providers):
            value = dataclasses.replace(provided.value, providers=left)
            registry.backends[name] = Provided(value, provided.origin)


def _place_overrides(
    candidates: Sequence[Candidate], assembly: Assembly
) -> list[tuple[Candidate, str]]:
    """Register the adapters that have a place; return those whose type or backend is unknown."""
    registry = assembly.registry
    aimless = []
    for candidate in candidates:
        for override in candidate.contribution.overrides:
            what = f"its adapter for {override.type!r} on {override.backend!r}"
            if override.type not in registry.tool_types:
                aimless.append((candidate, f"{what}: no plugin provides that tool type"))
            elif override.backend not in registry.backends:
                aimless.append((candidate, f"{what}: no plugin provides that backend"))
            elif replacer := _replacer(override, candidate, candidates):
                assembly.warnings[candidate].append(f"{what} is unused: {replacer} replaces it")
            else:
                registry.overrides[override.type, override.backend] = Provided(
                    override, candidate.source.origin
                )
    return aimless


def _replacer(
    override: AdapterOverride, owner: Candidate, candidates: Sequence[Candidate]
) -> str | None:
    """The other plugin that replaced what this adapter was written for."""
    for candidate in candidates:
        if candidate is owner or candidate.source.built_in:
            continue
        if candidate.replaces("tool", override.type) or candidate.replaces(
            "backend", override.backend
        ):
            return candidate.label
    return None
