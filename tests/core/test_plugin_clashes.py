"""Two plugins and one name: who gets it, who is left out, and what both are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holodeck_backend_claude.hookspecs import AdapterOverride, BackendType, ToolType, hookimpl

if TYPE_CHECKING:
    from tests.core.conftest import Only, Site, Why


class BuiltIn:
    """Stands where the default plugins stand: a tool type, a backend, an adapter for both."""

    HOLODECK_API = 1

    @hookimpl
    def holodeck_adapt_tool(self) -> list[ToolType | AdapterOverride]:
        return [
            ToolType("search", config="built.in:Config", adapter="built.in:neutral"),
            AdapterOverride("search", "main", "built.in:special"),
        ]

    @hookimpl
    def holodeck_register_backend(self) -> BackendType:
        return BackendType(
            "main", ("openai", "ollama"), "built.in:make", settings_key="main", settings="b.i:S"
        )


def tools(*descriptions: str) -> str:
    return f"@hookimpl\ndef holodeck_adapt_tool():\n    return [{', '.join(descriptions)}]\n"


def backends(*descriptions: str) -> str:
    return f"@hookimpl\ndef holodeck_register_backend():\n    return [{', '.join(descriptions)}]\n"


SEARCH = 'ToolType("search", config="acme.m:Config", adapter="acme.m:adapter", replaces={})'
OTHER = 'ToolType("other", config="acme.m:Config", adapter="acme.m:adapter")'


def test_a_built_in_tool_type_is_not_replaced_without_saying_so(site: Site, why: Why) -> None:
    site.add_built_in("tools", BuiltIn())
    site.add("acme", tools(SEARCH.format(False), OTHER))

    loaded = site.load()

    cause = why(loaded, "acme")
    assert "the tool type 'search'" in cause
    assert "'tools' of holodeck-backend-claude 0.1.0" in cause
    assert "replaces=True" in cause
    assert list(loaded.registry.tool_types) == ["search"]
    assert loaded.registry.tool_types["search"].origin.plugin == "tools"


def test_a_built_in_tool_type_is_replaced_by_saying_so(site: Site, only: Only) -> None:
    site.add_built_in("tools", BuiltIn())
    site.add("acme", tools(SEARCH.format(True)))

    loaded = site.load()

    assert only(loaded, "acme").state == "loaded"
    assert only(loaded, "tools").state == "loaded"
    assert loaded.registry.tool_types["search"].origin.distribution == "acme"


def test_the_special_adapters_of_a_replaced_tool_type_go_with_it(site: Site) -> None:
    site.add_built_in("tools", BuiltIn())
    site.add("acme", tools(SEARCH.format(True)))

    assert site.load().registry.overrides == {}


def test_a_replacing_plugin_may_bring_its_own_special_adapter(site: Site) -> None:
    site.add_built_in("tools", BuiltIn())
    site.add("acme", tools(SEARCH.format(True), 'AdapterOverride("search", "main", "acme.m:own")'))

    loaded = site.load()

    assert loaded.registry.overrides["search", "main"].origin.distribution == "acme"


def test_an_adapter_of_a_third_plugin_for_a_replaced_type_is_unused_and_says_so(
    site: Site, only: Only
) -> None:
    site.add_built_in("tools", BuiltIn())
    site.add("acme", tools(SEARCH.format(True)))
    site.add("extra", tools('AdapterOverride("search", "second", "extra.m:own")'))
    site.add("second", backends('BackendType("second", [], factory="m:f")'))

    loaded = site.load()

    assert loaded.registry.overrides == {}
    assert "is unused: 'acme' of acme 1.0 replaces it" in only(loaded, "extra").warnings[0]


def test_two_that_replace_the_same_are_both_out_and_the_built_in_stays(
    site: Site, why: Why
) -> None:
    site.add_built_in("tools", BuiltIn())
    site.add("acme-one", tools(SEARCH.format(True)))
    site.add("acme-two", tools(SEARCH.format(True)))

    loaded = site.load()

    assert "and so does 'acme-two' of acme-two 1.0" in why(loaded, "acme-one")
    assert "and so does 'acme-one' of acme-one 1.0" in why(loaded, "acme-two")
    assert loaded.registry.tool_types["search"].origin.plugin == "tools"


def test_two_plugins_that_claim_one_new_name_are_both_out(site: Site, why: Why) -> None:
    site.add("acme-one", tools(OTHER))
    site.add("acme-two", tools(OTHER) + backends('BackendType("two", [], factory="m:f")'))
    site.add("acme-three", tools(SEARCH.format(False)))

    loaded = site.load()

    assert "acme-two 1.0" in why(loaded, "acme-one")
    assert "acme-one 1.0" in why(loaded, "acme-two")
    assert list(loaded.registry.tool_types) == ["search"]
    assert loaded.registry.backends == {}


def test_a_clash_ends_when_one_of_the_two_is_blocked(site: Site, only: Only) -> None:
    site.add("acme-one", tools(OTHER))
    site.add("acme-two", tools(OTHER))

    loaded = site.load(block=["acme-two"])

    assert only(loaded, "acme-one").state == "loaded"


def test_who_is_out_already_takes_nobody_along(site: Site, only: Only) -> None:
    site.add_built_in("tools", BuiltIn())
    site.add("acme-one", tools(SEARCH.format(False), OTHER))
    site.add("acme-two", tools(OTHER))

    loaded = site.load()

    assert only(loaded, "acme-one").state == "failed"
    assert only(loaded, "acme-two").state == "loaded"


def test_a_name_is_not_taken_for_a_different_kind(site: Site, only: Only) -> None:
    site.add("acme", tools(OTHER) + backends('BackendType("other", ["other"], factory="m:f")'))

    assert only(site.load(), "acme").state == "loaded"


def test_a_provider_is_not_taken_from_a_built_in_backend_without_saying_so(
    site: Site, why: Why
) -> None:
    site.add_built_in("kernel", BuiltIn())
    site.add("acme", backends('BackendType("acme", ["openai"], factory="m:f")'))

    loaded = site.load()

    assert "the model provider 'openai'" in why(loaded, "acme")
    backend = loaded.registry.backend_for("openai")
    assert backend is not None
    assert backend.value.name == "main"


def test_a_provider_taken_over_leaves_the_built_in_backend_the_rest(site: Site) -> None:
    site.add_built_in("kernel", BuiltIn())
    site.add("acme", backends('BackendType("acme", ["openai"], factory="m:f", replaces=True)'))

    registry = site.load().registry

    chosen = {provider: registry.backend_for(provider) for provider in ("openai", "ollama")}
    assert {p: each and each.value.name for p, each in chosen.items()} == {
        "openai": "acme",
        "ollama": "main",
    }


def test_a_backend_replaced_by_name_is_gone_with_all_its_providers(site: Site) -> None:
    site.add_built_in("kernel", BuiltIn())
    site.add("acme", backends('BackendType("main", ["openai"], factory="m:f", replaces=True)'))

    registry = site.load().registry

    assert registry.backends["main"].origin.distribution == "acme"
    assert registry.backend_for("ollama") is None
    assert registry.overrides == {}


def test_a_settings_block_goes_only_together_with_its_backend(site: Site, why: Why) -> None:
    block = 'settings_key="main", settings="m:S", factory="m:f", replaces=True'
    site.add_built_in("kernel", BuiltIn())
    site.add("acme", backends(f'BackendType("acme", [], {block})'))

    assert "the settings block 'main'" in why(site.load(), "acme")


def test_a_replaced_backend_may_keep_its_settings_block(site: Site, only: Only) -> None:
    block = 'settings_key="main", settings="m:S", factory="m:f", replaces=True'
    site.add_built_in("kernel", BuiltIn())
    site.add("acme", backends(f'BackendType("main", [], {block})'))

    assert only(site.load(), "acme").state == "loaded"


def test_two_plugins_may_not_share_a_settings_block(site: Site, why: Why) -> None:
    for name in ("one", "two"):
        description = f'BackendType("{name}", [], "m:f", settings_key="s", settings="m:S")'
        site.add(name, backends(description))

    loaded = site.load()

    assert "the settings block 's'" in why(loaded, "one")
    assert "the settings block 's'" in why(loaded, "two")


def test_an_adapter_that_a_built_in_plugin_has_is_not_overridden(site: Site, why: Why) -> None:
    site.add_built_in("tools", BuiltIn())
    site.add("acme", tools('AdapterOverride("search", "main", "acme.m:own")'))

    assert "replace the tool type or the backend" in why(site.load(), "acme")


def test_an_adapter_for_an_unknown_type_or_backend_is_a_failure(site: Site, why: Why) -> None:
    site.add_built_in("tools", BuiltIn())
    site.add("acme", tools(OTHER, 'AdapterOverride("serach", "main", "acme.m:own")'))
    site.add("bcme", tools('AdapterOverride("search", "mian", "bcme.m:own")'))

    loaded = site.load()

    assert "for 'serach' on 'main': no plugin provides that tool type" in why(loaded, "acme")
    assert "for 'search' on 'mian': no plugin provides that backend" in why(loaded, "bcme")
    assert list(loaded.registry.tool_types) == ["search"]


def test_an_adapter_for_what_may_be_blocked_costs_its_plugin_nothing(
    site: Site, only: Only
) -> None:
    site.add_built_in("tools", BuiltIn())
    site.add("acme", tools(OTHER, 'AdapterOverride("other", "remote", "acme.m:own")'))
    site.add("remote", backends('BackendType("remote", [], factory="m:f")'))

    assert site.load().registry.overrides.keys() == {("search", "main"), ("other", "remote")}
    loaded = site.load(block=["remote"])

    assert only(loaded, "acme").state == "loaded"
    assert "it has no effect" in only(loaded, "acme").warnings[0]
    assert loaded.registry.overrides.keys() == {("search", "main")}


def test_a_plugin_that_replaces_what_is_not_there_just_loads(site: Site, only: Only) -> None:
    site.add("acme", tools(SEARCH.format(True)))

    assert only(site.load(), "acme").state == "loaded"
