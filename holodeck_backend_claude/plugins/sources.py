"""Which plugins there are: the defaults, and the entry points of what is installed."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distributions
from importlib.metadata import version as installed_version

from holodeck_backend_claude.contract import PluginError
from holodeck_backend_claude.hookspecs import ENTRY_POINT_GROUP
from holodeck_backend_claude.registry import NameKind, Origin

OWN_DISTRIBUTION = "holodeck-backend-claude"

DEFAULTS: Mapping[str, str] = {
    "tools": "holodeck_backend_claude.tools.plugin",
    "semantic-kernel": "holodeck_backend_claude.sk.plugin",
}
"""The plugins the core registers itself, by name, in this order."""

KNOWN_NAMES: Mapping[str, frozenset[tuple[NameKind, str]]] = {
    "claude": frozenset(
        {
            ("backend", "claude"),
            ("provider", "anthropic"),
            ("settings", "claude"),
            ("adapter", "hierarchical_document on claude"),
            ("adapter", "vectorstore on claude"),
        }
    ),
    "semantic-kernel": frozenset(
        {
            ("backend", "semantic-kernel"),
            ("settings", "semantic_kernel"),
            ("provider", "openai"),
            ("provider", "azure_openai"),
            ("provider", "ollama"),
        }
    ),
    "tools": frozenset(
        {("tool", "hierarchical_document"), ("tool", "mcp"), ("tool", "vectorstore")}
    ),
}
"""What our own plugins provide, for the words of a refusal when one is left out unread."""

_ENTRY_POINT_VALUE = re.compile(r"[\w.]+\s*(:\s*[\w.]+)?\s*(\[.*\])?")


@dataclass(frozen=True, eq=False)
class Source:
    """One plugin before it is loaded.

    Attributes:
        origin: Its name, and the distribution it comes from.
        value: What its entry point names: ``package.module`` or ``package.module:attribute``.
        load: Imports it and returns the plugin object.
        default: Whether the core registers it itself.
    """

    origin: Origin
    value: str
    load: Callable[[], object]
    default: bool = False

    @property
    def built_in(self) -> bool:
        """Whether it is a default or comes with this distribution, and so may be replaced."""
        return self.default or normalised(self.origin.distribution) == OWN_DISTRIBUTION


def normalised(name: str) -> str:
    """A distribution or plugin name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def default_sources() -> list[Source]:
    """The default plugins, in the order of their table."""
    try:
        version = installed_version(OWN_DISTRIBUTION)
    except PackageNotFoundError:  # run from a source tree that was never installed
        version = "unknown"
    return [
        Source(
            Origin(name, OWN_DISTRIBUTION, version),
            value=module,
            load=partial(importlib.import_module, module),
            default=True,
        )
        for name, module in DEFAULTS.items()
    ]


def installed_sources() -> list[Source]:
    """The entry points of all installed distributions, in an order that never changes."""
    found: dict[str, list[Source]] = {}
    for distribution in distributions():
        points = list(_entry_points(distribution))
        if not points:
            continue
        name, version = _name_and_version(distribution)
        # Of two copies on the path the first is the one that imports find.
        found.setdefault(normalised(name), list(_sources_of(points, name, version)))
    sources = [source for group in found.values() for source in group]
    return sorted(
        sources,
        key=lambda each: (normalised(each.origin.distribution), each.origin.plugin, each.value),
    )


def _entry_points(distribution: Distribution) -> Iterator[EntryPoint]:
    """The entry points of our group, read by hand.

    ``distribution.entry_points`` is another thing once somebody imports the package
    importlib_metadata, which takes over for the standard library and refuses all entry points of
    a distribution for one that is wrong.
    """
    try:
        text = distribution.read_text("entry_points.txt") or ""
    except (OSError, ValueError):  # unreadable or not text: someone else's broken package
        return
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1].strip()
        elif group == ENTRY_POINT_GROUP and line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield EntryPoint(name.strip(), value.strip(), group)


def _name_and_version(distribution: Distribution) -> tuple[str, str]:
    """Read from the head of the metadata by hand: its body may be a long README to parse."""
    try:
        text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
    except (OSError, ValueError):
        text = ""
    head = text.split("\n\n", 1)[0]
    fields = dict(line.partition(":")[::2] for line in reversed(head.splitlines()))
    return (
        fields.get("Name", "").strip() or "unknown",
        fields.get("Version", "").strip() or "unknown",
    )


def _sources_of(points: Iterable[EntryPoint], name: str, version: str) -> Iterator[Source]:
    for point in dict.fromkeys(points):
        yield Source(
            Origin(point.name, name, version), point.value, partial(_load_entry_point, point)
        )


def _load_entry_point(point: EntryPoint) -> object:
    if not _ENTRY_POINT_VALUE.fullmatch(point.value.strip()):
        raise PluginError(
            f"its entry point {point.value!r} is not written as 'package.module' or "
            "'package.module:attribute'"
        )
    plugin: object = point.load()
    return plugin
