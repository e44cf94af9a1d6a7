"""Which plugins may load, by the environment, the agent file and the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holodeck_backend_claude.config import PluginsConfig
from holodeck_backend_claude.plugins import load_plugins

if TYPE_CHECKING:
    from tests.core.conftest import Only, Site, Why


@pytest.fixture
def three(site: Site) -> Site:
    """Two plugins of other distributions and a default one."""
    site.add("Acme.SQL_tools", points="[holodeck]\nsql = acme_sql_tools_plugin\n")
    site.add("acme-web", name="web")
    site.add_built_in("tools", object())
    return site


def states(site: Site, **choice: object) -> dict[str, str]:
    loaded = site.load(**choice)  # type: ignore[arg-type]
    return {
        info.name: "blocked" if info.state == "blocked" else "not blocked" for info in loaded.infos
    }


@pytest.mark.parametrize(
    "name", ["sql", "SQL", "Acme.SQL_tools", "acme-sql-tools", "acme.sql-TOOLS", "acme__sql--tools"]
)
def test_a_plugin_is_blocked_by_either_name_however_it_is_spelt(three: Site, name: str) -> None:
    found = states(three, environ={"HOLODECK_PLUGINS_BLOCK": name})

    assert found == {"tools": "not blocked", "sql": "blocked", "web": "not blocked"}


def test_a_blocked_plugin_is_not_imported(site: Site, why: Why, only: Only) -> None:
    site.add("acme", "raise AssertionError('imported')", name="x")

    loaded = site.load(environ={"HOLODECK_PLUGINS_BLOCK": "x"})

    assert why(loaded, "x") == "blocked by HOLODECK_PLUGINS_BLOCK"
    assert only(loaded, "x").import_seconds is None


def test_an_allow_list_leaves_the_defaults_in(three: Site, why: Why) -> None:
    choice = {"HOLODECK_PLUGINS_ALLOW": " web , other"}

    assert states(three, environ=choice) == {
        "tools": "not blocked",
        "sql": "blocked",
        "web": "not blocked",
    }
    assert "not named in HOLODECK_PLUGINS_ALLOW" in why(three.load(environ=choice), "sql")


def test_blocks_of_all_places_add_up(three: Site, why: Why) -> None:
    loaded = three.load(
        environ={"HOLODECK_PLUGINS_BLOCK": "sql"},
        config=PluginsConfig(block=("web",)),
        block=["tools"],
    )

    assert why(loaded, "sql") == "blocked by HOLODECK_PLUGINS_BLOCK"
    assert why(loaded, "web") == "blocked by plugins.block in the agent file"
    assert why(loaded, "tools") == "blocked by --block-plugin"


def test_each_allow_list_has_to_name_a_plugin(three: Site) -> None:
    found = states(
        three,
        environ={"HOLODECK_PLUGINS_ALLOW": "sql,web"},
        config=PluginsConfig(allow=("acme-web",)),
    )

    assert found == {"tools": "not blocked", "sql": "blocked", "web": "not blocked"}


def test_an_empty_allow_list_of_an_agent_leaves_only_the_defaults(three: Site) -> None:
    assert states(three, config=PluginsConfig(allow=())) == {
        "tools": "not blocked",
        "sql": "blocked",
        "web": "blocked",
    }


def test_an_empty_variable_is_as_good_as_none(three: Site) -> None:
    found = states(three, environ={"HOLODECK_PLUGINS_ALLOW": "", "HOLODECK_PLUGINS_BLOCK": " , "})

    assert set(found.values()) == {"not blocked"}


def test_a_block_outweighs_an_allow(three: Site) -> None:
    found = states(
        three, environ={"HOLODECK_PLUGINS_ALLOW": "web", "HOLODECK_PLUGINS_BLOCK": "web"}
    )

    assert found["web"] == "blocked"


def test_a_default_is_blocked_by_its_plugin_name(three: Site) -> None:
    assert states(three, environ={"HOLODECK_PLUGINS_BLOCK": "tools"})["tools"] == "blocked"


def test_blocking_this_distribution_blocks_its_entry_points_and_not_the_defaults() -> None:
    loaded = load_plugins(environ={"HOLODECK_PLUGINS_BLOCK": "holodeck_backend_claude"}, quiet=True)

    states = {info.name: info.state for info in loaded.infos}
    assert states["claude"] == "blocked"
    assert states["tools"] != "blocked"
    assert states["semantic-kernel"] != "blocked"


def test_a_listed_name_that_matches_nothing_is_a_warning(three: Site) -> None:
    loaded = three.load(
        environ={"HOLODECK_PLUGINS_BLOCK": "sqll,web"}, config=PluginsConfig(allow=("wep", "sql"))
    )

    nothing = "which is no installed plugin or distribution of plugins"
    assert loaded.warnings == (
        f"plugins.allow in the agent file names 'wep', {nothing}",
        f"HOLODECK_PLUGINS_BLOCK names 'sqll', {nothing}",
    )


def test_the_environment_of_the_process_is_read_by_default(
    site: Site, why: Why, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.add("acme-sql", name="sql")
    monkeypatch.setenv("HOLODECK_PLUGINS_BLOCK", "acme-sql")

    assert "HOLODECK_PLUGINS_BLOCK" in why(load_plugins(quiet=True), "sql")
