"""Load plugins one by one, each on its own, and tell what became of each."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from holodeck_backend_claude.contract import PluginError
from holodeck_backend_claude.plugins.assemble import assemble
from holodeck_backend_claude.plugins.checks import Contribution, read_contribution
from holodeck_backend_claude.plugins.choice import Choice, PluginLists
from holodeck_backend_claude.plugins.claims import Candidate, claims_of, own_clash
from holodeck_backend_claude.plugins.hooks import Hooks
from holodeck_backend_claude.plugins.importing import SlowWatch, cause_of, contained
from holodeck_backend_claude.plugins.report import PluginInfo, Plugins, PluginState
from holodeck_backend_claude.plugins.sources import (
    KNOWN_NAMES,
    Source,
    default_sources,
    installed_sources,
)
from holodeck_backend_claude.redaction import traceback_of
from holodeck_backend_claude.registry import Absent, Origin

log = logging.getLogger(__name__)


@dataclass
class _Reading:
    """One plugin on its way through loading."""

    source: Source
    state: PluginState = "loaded"
    cause: str | None = None
    contribution: Contribution | None = None
    import_seconds: float | None = None
    warnings: list[str] = field(default_factory=list)


def load_plugins(
    *,
    config: PluginLists | None = None,
    environ: Mapping[str, str] | None = None,
    block: Sequence[str] = (),
    strict: bool = False,
    quiet: bool = False,
) -> Plugins:
    """Load the defaults, then every installed plugin.

    Args:
        config: The ``plugins`` block of the agent, if there is one.
        environ: Where the allow and block variables are read; the process's own by default.
        block: Further names to block, from the command line.
        strict: Make any failure fatal.
        quiet: Do not log what failed, because the caller shows it.

    Raises:
        PluginError: With ``strict``, if any plugin failed; it names all of them.
    """
    choice = Choice.of(
        config=config, environ=os.environ if environ is None else environ, command_line=block
    )
    plugins = load_sources([*default_sources(), *installed_sources()], choice)
    if not quiet:
        _log(plugins)
    if strict:
        plugins.require_all()
    return plugins


def load_plugin_objects(plugins: Mapping[str, object], *, defaults: bool = False) -> Plugins:
    """Load these modules or objects as plugins, and none that is installed.

    Args:
        plugins: Modules or objects with hooks, by plugin name.
        defaults: Whether the default plugins load too.

    Raises:
        PluginError: If any of them failed.
    """
    sources = [
        Source(Origin(name, name, "in memory"), repr(plugin), partial(_itself, plugin))
        for name, plugin in plugins.items()
    ]
    loaded = load_sources([*(default_sources() if defaults else ()), *sources], Choice())
    loaded.require_all()
    return loaded


def _itself(plugin: object) -> object:
    return plugin


def load_sources(sources: Sequence[Source], choice: Choice) -> Plugins:
    """Load each of these that may load, and put together what they contribute."""
    hooks = Hooks()
    with SlowWatch() as watch:
        readings = [_read(source, choice.refusal(source), hooks, watch) for source in sources]
    candidates = {
        reading.source: Candidate(reading.source, reading.contribution)
        for reading in readings
        if reading.state == "loaded" and reading.contribution is not None
    }
    assembly = assemble(list(candidates.values()), some_missing=len(candidates) < len(readings))
    for reading in readings:
        candidate = candidates.get(reading.source)
        if candidate is None:
            continue
        reading.warnings += assembly.warnings.get(candidate, [])
        if candidate in assembly.refused:
            reading.state, reading.cause = "failed", assembly.refused[candidate]
    registry = assembly.registry
    registry.absent = tuple(_absent(each) for each in readings if each.state != "loaded")
    return Plugins(
        registry,
        tuple(_info(reading) for reading in readings),
        tuple(choice.unmatched(sources)),
    )


def _read(source: Source, refusal: str | None, hooks: Hooks, watch: SlowWatch) -> _Reading:
    if refusal:
        return _Reading(source, "blocked", refusal)
    reading = _Reading(source)
    try:
        with watch.on(source.origin):
            _import_and_call(source, reading, hooks)
    except PluginError as error:
        log.debug("plugin %r failed: %s", source.origin.plugin, traceback_of(error))
        reading.state, reading.cause = "failed", cause_of(error)
    return reading


def _import_and_call(source: Source, reading: _Reading, hooks: Hooks) -> None:
    started = time.perf_counter()
    try:
        with contained(f"importing {source.value!r}"):
            plugin = source.load()
    finally:
        reading.import_seconds = time.perf_counter() - started
    with contained("looking at its hooks"):
        contribution = read_contribution(plugin, hooks)
    reading.contribution = contribution
    if clash := own_clash(Candidate(source, contribution)):
        raise PluginError(clash)
    if not contribution:
        reading.warnings.append("it contributes nothing: no hook of it returned anything")


def _absent(reading: _Reading) -> Absent:
    origin = reading.source.origin
    if reading.contribution is not None:
        claims = claims_of(Candidate(reading.source, reading.contribution))
        names = frozenset(claim.key for claim in claims)
    else:
        names = (
            KNOWN_NAMES.get(origin.plugin, frozenset())
            if reading.source.built_in
            else (frozenset())
        )
    state: Literal["blocked", "failed"] = "blocked" if reading.state == "blocked" else "failed"
    return Absent(origin, state, reading.cause or "", names)


def _info(reading: _Reading) -> PluginInfo:
    origin = reading.source.origin
    return PluginInfo(
        name=origin.plugin,
        distribution=origin.distribution,
        version=origin.version,
        entry_point=reading.source.value,
        default=reading.source.default,
        state=reading.state,
        cause=reading.cause,
        provides=reading.contribution.lines() if reading.contribution is not None else (),
        import_seconds=reading.import_seconds,
        warnings=tuple(reading.warnings),
    )


def _log(plugins: Plugins) -> None:
    for info in plugins.failed:
        log.warning(
            "the plugin %r of %s %s is left out: %s",
            info.name, info.distribution, info.version, info.cause,
        )  # fmt: skip
    for warning in plugins.warnings:
        log.warning("%s", warning)
