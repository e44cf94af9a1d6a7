"""The registry: looking up what plugins contributed, with errors that name the plugin."""

from __future__ import annotations

import pytest

from holodeck_backend_claude.config import ToolConfig
from holodeck_backend_claude.contract import PluginError, ToolAdapter
from holodeck_backend_claude.hookspecs import AdapterOverride, BackendType, ToolType
from holodeck_backend_claude.registry import Absent, Origin, Provided, Registry

ORIGIN = Origin("sql", "acme-sql", "2.3")


def neutral(_config: object, _instance: object) -> list[ToolAdapter]:
    return []


def special(_config: object, _instance: object) -> list[ToolAdapter]:
    return []


def registry(**changes: object) -> Registry:
    fields: dict[str, object] = {"config": ToolConfig, "adapter": neutral, **changes}
    tool = ToolType("sql", **fields)  # type: ignore[arg-type]
    return Registry(tool_types={"sql": Provided(tool, ORIGIN)})


def test_an_override_is_used_on_its_backend_and_the_neutral_adapter_elsewhere() -> None:
    subject = registry()
    subject.overrides["sql", "claude"] = Provided(AdapterOverride("sql", "claude", special), ORIGIN)

    assert subject.adapter_factory("sql", "claude") is special
    assert subject.adapter_factory("sql", "semantic-kernel") is neutral


def test_an_adapter_that_cannot_be_loaded_names_the_plugin() -> None:
    with pytest.raises(PluginError, match=r"acme-sql 2\.3 cannot load 'no_such:adapt'"):
        registry(adapter="no_such:adapt").adapter_factory("sql", "claude")


class TestChoice:
    SUBJECT = Registry(
        backends={
            "first": Provided(BackendType("first", ("one", "uno"), "m:f"), ORIGIN),
            "second": Provided(BackendType("second", (), "m:f"), ORIGIN),
        },
        absent=(
            Absent(
                Origin("third", "acme-third", "0.3"), "blocked", "blocked by x",
                frozenset({("backend", "third"), ("provider", "three")}),
            ),
        ),
    )  # fmt: skip

    def test_is_the_named_backend_else_that_of_the_provider(self) -> None:
        by_name, by_provider = (
            self.SUBJECT.choose("second", "one"),
            self.SUBJECT.choose(None, "uno"),
        )
        assert by_name.provided is self.SUBJECT.backends["second"]
        assert by_provider.provided is self.SUBJECT.backends["first"]

    @pytest.mark.parametrize(
        ("backend", "provider", "kind", "name", "known"),
        [
            ("third", "one", "backend", "third", ("first", "second")),
            (None, "three", "provider", "three", ("one", "uno")),
        ],
    )
    def test_never_slides_to_another_and_says_what_is_missing(
        self, backend: str | None, provider: str, kind: str, name: str, known: tuple[str, ...]
    ) -> None:
        choice = self.SUBJECT.choose(backend, provider)
        assert choice.provided is None
        assert (choice.kind, choice.name, choice.known) == (kind, name, known)
        assert choice.absent is self.SUBJECT.absent[0]

    def test_knows_no_plugin_for_what_nobody_provides(self) -> None:
        choice = self.SUBJECT.choose(None, "four")
        assert (choice.provided, choice.absent) == (None, None)


def test_ready_instances_are_kept_beside_the_same_contributions() -> None:
    subject = registry()
    instance = object()

    with_one = subject.with_instances({"kb": instance})

    assert with_one.given.instances == {"kb": instance}
    assert subject.given.instances == {}
    assert with_one.tool_types == subject.tool_types


def test_who_is_told_of_progress_is_kept_beside_ready_instances() -> None:
    told: list[tuple[str, int, int]] = []
    subject = registry().with_instances({"kb": "ready"})

    with_both = subject.with_progress(lambda *step: told.append(step))

    subject.given.progress("told nobody", 1, 2)
    with_both.given.progress("indexing", 1, 2)
    assert told == [("indexing", 1, 2)]
    assert with_both.given.instances == {"kb": "ready"}
