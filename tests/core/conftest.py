"""A folder of installed distributions with plugins, as importlib.metadata finds them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from typing import TypeAlias

import pytest

from holodeck_backend_claude.plugins import (
    Choice,
    PluginInfo,
    PluginLists,
    Plugins,
    Source,
    installed_sources,
    load_sources,
)
from holodeck_backend_claude.registry import Origin

PREAMBLE = """
from holodeck_backend_claude.hookspecs import (
    AdapterOverride, BackendType, ToolType, hookimpl,
)
HOLODECK_API = 1
"""


Only: TypeAlias = Callable[[Plugins, str], PluginInfo]
Why: TypeAlias = Callable[[Plugins, str], str]


class Site:
    """Installs distributions by writing what pip would write, and loads only those."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.modules: list[str] = []
        self.built_in: list[Source] = []

    def add(
        self,
        distribution: str,
        code: str = "",
        *,
        name: str = "",
        version: str = "1.0",
        points: str | None = None,
    ) -> None:
        """Install ``distribution`` with one plugin whose module holds ``code``."""
        module = f"{distribution.replace('-', '_').replace('.', '_').lower()}_plugin"
        (self.folder / f"{module}.py").write_text(PREAMBLE + dedent(code), encoding="utf-8")
        self.modules.append(module)
        info = self.folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        info.joinpath("METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n", encoding="utf-8"
        )
        text = f"[holodeck]\n{name or distribution} = {module}\n" if points is None else points
        info.joinpath("entry_points.txt").write_text(text, encoding="utf-8")

    def add_built_in(self, name: str, plugin: object) -> None:
        """A plugin that is built in as the default ones are."""
        origin = Origin(name, "holodeck-backend-claude", "0.1.0")
        self.built_in.append(Source(origin, name, lambda: plugin, default=True))

    def load(
        self,
        *,
        environ: Mapping[str, str] | None = None,
        config: PluginLists | None = None,
        block: Sequence[str] = (),
    ) -> Plugins:
        """Load the built-in plugins of this site, then what is installed in it."""
        choice = Choice.of(config=config, environ=environ or {}, command_line=block)
        own = [each for each in installed_sources() if each.origin.plugin != "claude"]
        return load_sources([*self.built_in, *own], choice)


def cause_of(plugins: Plugins, name: str) -> str:
    """Why this plugin did not load."""
    cause = info_of(plugins, name).cause
    assert cause is not None
    return cause


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.syspath_prepend(str(tmp_path))
    site = Site(tmp_path)
    yield site
    for module in site.modules:
        sys.modules.pop(module, None)


def info_of(plugins: Plugins, name: str) -> PluginInfo:
    """The one entry of this plugin."""
    (info,) = [info for info in plugins.infos if info.name == name]
    return info


@pytest.fixture
def why() -> Why:
    return cause_of


@pytest.fixture
def only() -> Only:
    return info_of
