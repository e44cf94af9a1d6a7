"""Who may have which name: clashes within a plugin, with what is built in, and between plugins."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holodeck_backend_claude.plugins.checks import Contribution
from holodeck_backend_claude.plugins.sources import Source
from holodeck_backend_claude.registry import NameKind

_WORDS: dict[NameKind, str] = {
    "backend": "the backend",
    "provider": "the model provider",
    "tool": "the tool type",
    "settings": "the settings block",
    "adapter": "the adapter",
    "reranker": "the reranker",
}


@dataclass(frozen=True, eq=False)
class Candidate:
    """A plugin that was read, before it is settled whether its names are free."""

    source: Source
    contribution: Contribution

    @property
    def label(self) -> str:
        """Plugin and distribution, for messages."""
        return f"{self.source.origin.plugin!r} of {self.source.origin}"

    def replaces(self, kind: NameKind, name: str) -> bool:
        """Whether it says that it takes this backend or tool type over."""
        if kind == "backend":
            return any(b.replaces and b.name == name for b in self.contribution.backends)
        return any(t.replaces and t.type == name for t in self.contribution.tool_types)


@dataclass(frozen=True)
class Claim:
    """One name that a plugin wants for itself.

    Attributes:
        kind: What the name is for.
        name: The name.
        takes_over: Whether the plugin may take it from something built in.
    """

    kind: NameKind
    name: str
    takes_over: bool

    @property
    def key(self) -> tuple[NameKind, str]:
        """What two claims must not share."""
        return self.kind, self.name

    def __str__(self) -> str:
        return f"{_WORDS[self.kind]} {self.name!r}"


def claims_of(candidate: Candidate) -> Iterator[Claim]:
    """Every name the plugin wants."""
    for backend in candidate.contribution.backends:
        yield Claim("backend", backend.name, backend.replaces)
        for provider in dict.fromkeys(backend.providers):
            yield Claim("provider", provider, backend.replaces)
        if backend.settings_key:
            yield Claim("settings", backend.settings_key, backend.replaces)
    for tool in candidate.contribution.tool_types:
        yield Claim("tool", tool.type, tool.replaces)
    for reranker in candidate.contribution.rerankers:
        yield Claim("reranker", reranker.provider, reranker.replaces)
    for override in candidate.contribution.overrides:
        # An adapter goes with the type and backend it was written for.
        takes_over = candidate.replaces("tool", override.type) or candidate.replaces(
            "backend", override.backend
        )
        yield Claim("adapter", f"{override.type} on {override.backend}", takes_over)


def own_clash(candidate: Candidate) -> str | None:
    """What a plugin claims twice by itself."""
    counted = Counter(claim.key for claim in claims_of(candidate))
    for claim in claims_of(candidate):
        if counted[claim.key] > 1:
            return f"it provides {claim} twice"
    return None


def clashes(candidates: Sequence[Candidate]) -> dict[Candidate, str]:
    """The plugins that cannot have the names they claim, each with the reason.

    What is built in keeps its names unless a plugin says ``replaces``. Of several plugins that
    claim one name none gets it: which one loads must not hang on the order of loading.
    """
    built_in = [each for each in candidates if each.source.built_in]
    others = [each for each in candidates if not each.source.built_in]
    refused = _taken_without_saying(built_in, others)
    for group in (built_in, [each for each in others if each not in refused]):
        refused.update(_claimed_twice(group))
    return refused


def _taken_without_saying(
    built_in: Sequence[Candidate], others: Sequence[Candidate]
) -> dict[Candidate, str]:
    owners = {claim.key: owner for owner in built_in for claim in claims_of(owner)}
    refused: dict[Candidate, str] = {}
    for candidate in others:
        for claim in claims_of(candidate):
            owner = owners.get(claim.key)
            if owner is None or (claim.takes_over and _block_goes_too(claim, owner, candidate)):
                continue
            remedy = {
                "adapter": "to bring another adapter, replace the tool type or the backend",
                "settings": "choose another settings_key, or replace the backend it belongs to",
            }.get(claim.kind, "to take it over it must say replaces=True")
            refused.setdefault(
                candidate, f"it claims {claim}, which {owner.label} provides; {remedy}"
            )
    return refused


def _block_goes_too(claim: Claim, owner: Candidate, candidate: Candidate) -> bool:
    """A settings block can be had only together with the backend that reads it."""
    if claim.kind != "settings":
        return True
    readers = [b for b in owner.contribution.backends if b.settings_key == claim.name]
    return all(candidate.replaces("backend", reader.name) for reader in readers)


def _claimed_twice(candidates: Sequence[Candidate]) -> dict[Candidate, str]:
    claimants: dict[tuple[NameKind, str], list[tuple[Candidate, Claim]]] = defaultdict(list)
    for candidate in candidates:
        for claim in claims_of(candidate):
            claimants[claim.key].append((candidate, claim))
    refused: dict[Candidate, str] = {}
    for claimed in claimants.values():
        for candidate, claim in claimed:
            rivals = [other.label for other, _ in claimed if other is not candidate]
            if rivals:
                refused.setdefault(
                    candidate,
                    f"it claims {claim}, and so does {' and '.join(rivals)}; "
                    "block or uninstall all but one of them",
                )
    return refused
