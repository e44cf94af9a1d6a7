"""Which backend runs an agent, and what is said when none may."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holodeck_backend_claude.config import Agent, Instructions, ModelConfig, PluginsConfig
from holodeck_backend_claude.contract import BackendInitError, PluginError
from holodeck_backend_claude.hookspecs import BackendType
from holodeck_backend_claude.registry import Absent, Origin, Provided, Registry
from holodeck_backend_claude.selector import BackendSelector

if TYPE_CHECKING:
    from tests.core.conftest import Site

ORIGIN = Origin("acme", "acme-backends", "1.2")


class Backend:
    """An AgentBackend that does nothing but remember what it was made from."""

    def __init__(self, agent: Agent, registry: Registry) -> None:
        self.agent = agent
        self.registry = registry
        self.initialized = False

    async def initialize(self) -> None:
        self.initialized = True

    async def invoke_once(self, message: str, context: Any = None) -> Any: ...

    async def create_session(self) -> Any: ...

    async def teardown(self) -> None: ...


class First(Backend):
    pass


class Second(Backend):
    pass


def agent(provider: str = "one", **fields: Any) -> Agent:
    return Agent(
        name="helper",
        model=ModelConfig(provider=provider, name="m"),
        instructions=Instructions(inline="Help."),
        **fields,
    )


def registry(*absent: Absent, **factories: Any) -> Registry:
    chosen = factories or {"first": First, "second": Second}
    providers = {"first": ("one", "uno"), "second": ("two",)}
    return Registry(
        backends={
            name: Provided(BackendType(name, providers.get(name, ()), factory), ORIGIN)
            for name, factory in chosen.items()
        },
        absent=absent,
    )


def test_the_provider_decides_the_backend() -> None:
    assert isinstance(BackendSelector.create(agent("uno"), registry=registry()), First)
    assert isinstance(BackendSelector.create(agent("two"), registry=registry()), Second)


def test_a_named_backend_outweighs_the_provider() -> None:
    made = BackendSelector.create(agent("one", backend="second"), registry=registry())

    assert isinstance(made, Second)


def test_creating_opens_nothing_and_hands_over_agent_and_registry() -> None:
    subject, known = agent(), registry()

    made = BackendSelector.create(subject, registry=known)

    assert isinstance(made, First)
    assert made.agent is subject
    assert made.registry is known
    assert not made.initialized


def test_ready_tools_reach_the_backend_and_leave_the_registry_alone() -> None:
    known, tool = registry(), object()

    made = BackendSelector.create(agent(), {"kb": tool}, registry=known)

    assert isinstance(made, First)
    assert made.registry.given.instances == {"kb": tool}
    assert known.given.instances == {}


def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(PluginError) as raised:
        BackendSelector.create(agent("three"), registry=registry())

    text = str(raised.value)
    assert "the agent 'helper'" in text
    assert "provider 'three'" in text
    assert "known: one, two, uno" in text
    assert "pip install" in text


def test_an_unknown_backend_is_refused_with_the_known_ones() -> None:
    with pytest.raises(PluginError, match=r"backend 'third'.*known: first, second"):
        BackendSelector.create(agent(backend="third"), registry=registry())


@pytest.mark.parametrize("fields", [{"provider": "three"}, {"backend": "third"}])
def test_a_blocked_backend_is_refused_with_who_blocked_it(fields: dict[str, str]) -> None:
    blocked = Absent(
        Origin("third", "acme-third", "0.3"),
        "blocked",
        "blocked by HOLODECK_PLUGINS_BLOCK",
        frozenset({("backend", "third"), ("provider", "three")}),
    )

    with pytest.raises(PluginError) as raised:
        BackendSelector.create(agent(**fields), registry=registry(blocked))

    text = str(raised.value)
    assert "the plugin 'third' of acme-third 0.3 is blocked by HOLODECK_PLUGINS_BLOCK" in text
    assert "no other backend takes its place" in text


def test_a_failed_backend_is_refused_with_its_cause() -> None:
    failed = Absent(
        Origin("third", "acme-third", "0.3"), "failed", "it exploded",
        frozenset({("backend", "third")}),
    )  # fmt: skip

    with pytest.raises(PluginError, match=r"acme-third 0\.3 failed: it exploded.*reinstall"):
        BackendSelector.create(agent(backend="third"), registry=registry(failed))


def test_a_left_out_plugin_that_was_never_read_is_named_as_a_possibility() -> None:
    unread = Absent(Origin("x", "acme-x", "1"), "blocked", "blocked by --block-plugin")

    with pytest.raises(PluginError, match=r"(?s)left out may:.*'x' of acme-x 1 is blocked by"):
        BackendSelector.create(agent("three"), registry=registry(unread))


def test_a_factory_given_as_an_import_string_is_loaded_only_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lazy_backend_of_a_test.py").write_text(
        "calls = []\n"
        "class Made:\n"
        "    async def initialize(self): ...\n"
        "    async def invoke_once(self, message, context=None): ...\n"
        "    async def create_session(self): ...\n"
        "    async def teardown(self): ...\n"
        "def make(agent, registry):\n    return Made()\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    made = BackendSelector.create(agent(), registry=registry(first="lazy_backend_of_a_test:make"))

    assert type(made).__name__ == "Made"


def test_a_factory_that_cannot_be_loaded_names_backend_and_distribution() -> None:
    with pytest.raises(
        PluginError, match=r"'first' of acme-backends 1\.2: cannot load 'nope:make'"
    ):
        BackendSelector.create(agent(), registry=registry(first="nope:make"))


def test_a_factory_that_raises_names_backend_and_distribution() -> None:
    def make(_agent: Agent, _registry: Registry) -> Any:
        raise KeyError("boom")

    with pytest.raises(PluginError, match=r"acme-backends 1\.2 could not be made: KeyError"):
        BackendSelector.create(agent(), registry=registry(first=make))


def test_an_error_a_factory_raises_on_purpose_passes() -> None:
    def make(_agent: Agent, _registry: Registry) -> Any:
        raise BackendInitError("no key")

    with pytest.raises(BackendInitError, match="no key"):
        BackendSelector.create(agent(), registry=registry(first=make))


def test_a_factory_that_gives_something_else_is_refused() -> None:
    with pytest.raises(PluginError, match="gave a str, which lacks methods of AgentBackend"):
        BackendSelector.create(agent(), registry=registry(first=lambda _a, _r: "backend"))


def test_without_a_registry_the_plugins_load_by_the_block_of_the_agent(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOLODECK_PLUGINS_BLOCK", raising=False)
    site.add("acme", """
class Made:
    async def initialize(self): ...
    async def invoke_once(self, message, context=None): ...
    async def create_session(self): ...
    async def teardown(self): ...

@hookimpl
def holodeck_register_backend():
    return BackendType("acme", ["acmeai"], factory=lambda agent, registry: Made())
""", name="acme-plugin")  # fmt: skip

    assert type(BackendSelector.create(agent("acmeai"))).__name__ == "Made"
    blocked = agent("acmeai", plugins=PluginsConfig(block=("acme",)))
    with pytest.raises(PluginError, match=r"blocked by plugins\.block in the agent file"):
        BackendSelector.create(blocked)


def test_a_blocked_claude_plugin_is_named_for_a_claude_agent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOLODECK_PLUGINS_BLOCK", "claude")

    with pytest.raises(PluginError, match=r"'claude' of holodeck-backend-claude .* is blocked by"):
        BackendSelector.create(agent("anthropic"))
