"""Which plugins may load: allow and block lists from the environment, config and command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from holodeck_backend_claude.plugins.sources import Source, normalised

ALLOW_VARIABLE = "HOLODECK_PLUGINS_ALLOW"
BLOCK_VARIABLE = "HOLODECK_PLUGINS_BLOCK"


class PluginLists(Protocol):
    """What ``plugins:`` in agent.yaml says."""

    @property
    def allow(self) -> Sequence[str] | None: ...  # noqa: D102
    @property
    def block(self) -> Sequence[str]: ...  # noqa: D102


@dataclass(frozen=True)
class NameList:
    """Distribution and plugin names, and who gave them."""

    given_by: str
    names: Sequence[str]

    def has(self, source: Source) -> bool:
        """Whether the list names this plugin."""
        return any(_names(name, source) for name in self.names)


@dataclass(frozen=True)
class Choice:
    """All lists that apply to one load.

    Attributes:
        allow: Each of them must name a plugin for it to load; the defaults need no allowing.
        block: One of them is enough to keep a plugin out.
    """

    allow: Sequence[NameList] = ()
    block: Sequence[NameList] = ()

    @classmethod
    def of(
        cls,
        *,
        config: PluginLists | None,
        environ: Mapping[str, str],
        command_line: Sequence[str] = (),
    ) -> Choice:
        """Gather the lists; an empty environment variable counts as not set."""
        allow, block = [], []
        if names := _split(environ.get(ALLOW_VARIABLE, "")):
            allow.append(NameList(ALLOW_VARIABLE, names))
        if names := _split(environ.get(BLOCK_VARIABLE, "")):
            block.append(NameList(BLOCK_VARIABLE, names))
        if config is not None and config.allow is not None:
            allow.append(NameList("plugins.allow in the agent file", config.allow))
        if config is not None and config.block:
            block.append(NameList("plugins.block in the agent file", config.block))
        if command_line:
            block.append(NameList("--block-plugin", command_line))
        return cls(allow, block)

    def refusal(self, source: Source) -> str | None:
        """Why this plugin may not load, or None if it may."""
        for listed in self.block:
            if listed.has(source):
                return f"blocked by {listed.given_by}"
        for listed in self.allow:
            if not source.default and not listed.has(source):
                return f"blocked: it is not named in {listed.given_by}"
        return None

    def unmatched(self, sources: Sequence[Source]) -> Iterator[str]:
        """A sentence for each listed name that is the name of no plugin here."""
        for listed in (*self.allow, *self.block):
            for name in listed.names:
                if not any(_names(name, source) for source in sources):
                    yield (
                        f"{listed.given_by} names {name!r}, "
                        "which is no installed plugin or distribution of plugins"
                    )


def _names(name: str, source: Source) -> bool:
    """The defaults answer to their plugin name only: their distribution is this program itself."""
    if normalised(name) == normalised(source.origin.plugin):
        return True
    return not source.default and normalised(name) == normalised(source.origin.distribution)


def _split(text: str) -> list[str]:
    return [name for part in text.split(",") if (name := part.strip())]
