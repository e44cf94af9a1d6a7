"""Which plugins are found, in which order, and what is known of each before it loads."""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING

import pytest

from holodeck_backend_claude import plugins as plugins_package
from holodeck_backend_claude.plugins import default_sources, installed_sources, load_plugins

if TYPE_CHECKING:
    from pathlib import Path

    from tests.core.conftest import Only, Site, Why

TOOL = """
@hookimpl
def holodeck_adapt_tool():
    return ToolType({tag!r}, config="pkg.m:Config", adapter="pkg.m:Adapter")
"""


def test_the_defaults_come_first_in_the_order_of_their_table() -> None:
    names = [source.origin.plugin for source in default_sources()]

    assert names == ["tools", "semantic-kernel"]
    assert all(source.default and source.built_in for source in default_sources())


def test_the_claude_plugin_is_found_through_its_entry_point() -> None:
    claude = [source for source in installed_sources() if source.origin.plugin == "claude"]

    assert [source.value for source in claude] == ["holodeck_backend_claude.claude.plugin"]
    assert not claude[0].default
    assert claude[0].built_in


def test_an_installed_plugin_is_listed_with_all_that_is_known_of_it(site: Site, only: Only) -> None:
    site.add("acme-sql", TOOL.format(tag="sql"), name="sql", version="2.3")

    info = only(site.load(), "sql")

    assert info.distribution == "acme-sql"
    assert info.version == "2.3"
    assert info.entry_point == "acme_sql_plugin"
    assert info.state == "loaded"
    assert info.cause is None
    assert info.provides == ("tool sql",)
    assert info.import_seconds is not None
    assert info.import_seconds >= 0
    assert not info.default


def test_plugins_are_in_the_same_order_however_they_were_installed(site: Site) -> None:
    for name in ("zeta", "Alpha_x", "mid"):
        site.add(name, TOOL.format(tag=name.lower()))

    names = [info.name for info in site.load().infos]

    assert names == ["Alpha_x", "mid", "zeta"]


def test_two_distributions_with_one_entry_point_name_both_load(site: Site) -> None:
    site.add("acme-one", TOOL.format(tag="one"), name="search")
    site.add("acme-two", TOOL.format(tag="two"), name="search")

    loaded = site.load()

    assert [(i.name, i.distribution, i.state) for i in loaded.infos] == [
        ("search", "acme-one", "loaded"),
        ("search", "acme-two", "loaded"),
    ]
    assert set(loaded.registry.tool_types) == {"one", "two"}


def test_one_distribution_may_bring_several_plugins(site: Site) -> None:
    site.add("acme", points="[holodeck]\na = acme_plugin\nb = acme_plugin:holder\n", code="""
class Holder:
    HOLODECK_API = 1
    @hookimpl
    def holodeck_adapt_tool(self):
        return ToolType("held", config="pkg.m:Config", adapter="pkg.m:Adapter")
holder = Holder()
""")  # fmt: skip

    loaded = site.load()

    assert [(info.name, info.state) for info in loaded.infos] == [("a", "loaded"), ("b", "loaded")]
    assert loaded.registry.tool_types["held"].origin.plugin == "b"


def test_an_object_may_leave_the_api_version_to_its_module(site: Site, only: Only) -> None:
    site.add("acme", points="[holodeck]\nb = acme_plugin:Holder\n", code="""
class Holder:
    @staticmethod
    @hookimpl
    def holodeck_adapt_tool():
        return ToolType("held", config="pkg.m:Config", adapter="pkg.m:Adapter")
""")  # fmt: skip

    assert only(site.load(), "b").provides == ("tool held",)


def test_every_contribution_remembers_its_distribution(site: Site) -> None:
    site.add("acme-sql", TOOL.format(tag="sql"), name="sql", version="2.3")

    origin = site.load().registry.tool_types["sql"].origin

    assert (origin.plugin, origin.distribution, origin.version) == ("sql", "acme-sql", "2.3")


def test_of_two_copies_of_a_distribution_the_first_on_the_path_counts(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.add("acme-sql", TOOL.format(tag="sql"), version="2.0")
    shadowed = tmp_path / "later"
    info = shadowed / "acme_sql-1.0.dist-info"
    info.mkdir(parents=True)
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: Acme.SQL\nVersion: 1.0\n")
    info.joinpath("entry_points.txt").write_text("[holodeck]\nold = acme_sql_plugin\n")
    monkeypatch.syspath_prepend(str(shadowed))
    monkeypatch.syspath_prepend(str(tmp_path))

    assert [(i.name, i.version) for i in site.load().infos] == [("acme-sql", "2.0")]


def test_damaged_metadata_of_a_plugin_is_reported_and_hides_no_other(site: Site, why: Why) -> None:
    site.add("acme-bad", points="[holodeck]\njust-a-name\n")
    site.add("acme-good", TOOL.format(tag="good"))

    loaded = site.load()

    states = {info.name: info.state for info in loaded.infos}
    assert states["acme-good"] == "loaded"
    assert states["just-a-name"] == "failed"
    assert "not written as" in why(loaded, "just-a-name")


def test_a_package_that_takes_over_for_the_standard_library_changes_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_distribution: object) -> None:
        raise ValueError("one of them is wrong")  # as importlib_metadata does

    monkeypatch.setattr(importlib.metadata.Distribution, "entry_points", property(refuse))
    site.add("acme-good", TOOL.format(tag="good"))
    assert [info.state for info in site.load().infos if info.name == "acme-good"] == ["loaded"]


@pytest.mark.parametrize("points", ["[console_scripts]\nbroken\n", "\x00\xff", ""])
def test_damaged_metadata_of_a_foreign_distribution_is_not_our_matter(
    site: Site, points: str
) -> None:
    site.add("foreign", points=points)

    assert site.load().infos == ()


def test_a_distribution_without_name_and_version_is_still_listed(site: Site) -> None:
    site.add("acme", TOOL.format(tag="sql"), name="sql")
    (site.folder / "acme-1.0.dist-info" / "METADATA").unlink()

    (info,) = site.load().infos

    assert (info.state, info.distribution, info.version) == ("loaded", "unknown", "unknown")


def test_load_plugins_brings_the_defaults_and_the_installed_together(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.add("acme-sql", TOOL.format(tag="sql"), name="sql")
    monkeypatch.setenv("HOLODECK_PLUGINS_BLOCK", "")

    loaded = load_plugins(quiet=True)

    names = [info.name for info in loaded.infos]
    assert names[:2] == list(plugins_package.DEFAULTS)
    assert {"sql", "claude"} < set(names)
    assert "sql" in loaded.registry.tool_types


def test_the_names_for_refusals_are_those_that_our_plugins_provide() -> None:
    registry = load_plugins(environ={}, quiet=True, strict=True).registry
    found: dict[str, set[tuple[str, str]]] = {name: set() for name in plugins_package.KNOWN_NAMES}
    for backend in registry.backends.values():
        names = found[backend.origin.plugin]
        names.add(("backend", backend.value.name))
        names |= {("provider", provider) for provider in backend.value.providers}
        names |= {("settings", key) for key in [backend.value.settings_key] if key}
    for tag, tool in registry.tool_types.items():
        found[tool.origin.plugin].add(("tool", tag))
    for (tag, name), override in registry.overrides.items():
        found[override.origin.plugin].add(("adapter", f"{tag} on {name}"))

    assert found == plugins_package.KNOWN_NAMES
