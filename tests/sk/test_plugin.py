"""The plugin: what it declares, what it imports and when, and that nothing inside gets out."""

from __future__ import annotations

import dataclasses
import inspect
import json
import logging
import subprocess
import sys
import typing

import pytest

from holodeck_backend_claude import hookspecs
from holodeck_backend_claude.import_strings import resolve
from holodeck_backend_claude.plugins import load_plugins
from holodeck_backend_claude.selector import BackendSelector
from holodeck_backend_claude.sk import plugin
from holodeck_backend_claude.sk.backend import SKBackend
from holodeck_backend_claude.sk.session import SKSession
from holodeck_backend_claude.sk.settings import SKSettings
from holodeck_backend_claude.testing import call_tool, fail, reply, say
from tests.support.probes import Probe

from .lab import Lab


def loaded_after(code: str) -> list[str]:
    """Which of the heavy libraries a fresh interpreter has imported after the code."""
    heavy = ["semantic_kernel", "openai", "httpx", "mcp", "claude_agent_sdk"]
    shown = f"import json, sys; print(json.dumps([n for n in {heavy!r} if n in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{shown}"], capture_output=True, text=True, check=True
    )
    found: list[str] = json.loads(done.stdout)
    return found


def test_the_plugin_describes_one_backend_for_its_three_providers() -> None:
    assert plugin.HOLODECK_API == hookspecs.API_VERSION
    described = plugin.holodeck_register_backend()
    assert described.name == "semantic-kernel"
    assert described.providers == ("openai", "azure_openai", "ollama")
    assert resolve(described.factory) is SKBackend
    assert resolve(described.settings) is SKSettings


def test_importing_the_plugin_imports_nothing_heavy() -> None:
    assert loaded_after("import holodeck_backend_claude.sk.plugin") == []


def test_choosing_the_backend_does_not_import_semantic_kernel_yet() -> None:
    assert loaded_after("import holodeck_backend_claude.sk.backend") == []


def test_importing_semantic_kernel_shows_no_warning() -> None:
    code = "import holodeck_backend_claude.sk.agent, holodeck_backend_claude.sk.providers"
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


def test_the_core_registers_it_and_the_selector_picks_it_for_openai(lab: Lab) -> None:
    agent = lab.agent(None)
    backend = BackendSelector.create(agent, registry=load_plugins(config=agent.plugins).registry)
    assert isinstance(backend, SKBackend)


@pytest.mark.parametrize("subject", [SKBackend, SKSession])
def test_public_annotations_name_no_type_of_semantic_kernel(subject: type) -> None:
    for name, member in inspect.getmembers(subject, inspect.isfunction):
        if not name.startswith("_"):
            for hint in typing.get_type_hints(member).values():
                assert "semantic_kernel" not in repr(hint)


async def test_results_and_events_consist_of_plain_data(lab: Lab) -> None:
    script = [
        reply(say("I look."), call_tool("kb_search", {"query": "x"})),
        fail(429, retry_after=0.01),
        say("Found.", thinking="Hm."),
    ]
    _, backend = await lab.run(script, Probe(), execution={"max_retries": 1})
    session = await backend.create_session()
    events = [event async for event in session.stream("Look.")]
    assert {type(event).__name__ for event in events} == {
        "TextDelta", "ToolStart", "ToolEnd", "Retrying", "ThinkingDelta", "TurnEnd",
    }  # fmt: skip
    for event in events:
        _assert_plain(dataclasses.asdict(event))


def _assert_plain(value: object) -> None:
    assert type(value) in {dict, list, str, int, float, bool, type(None)}, type(value)
    for part in value.values() if isinstance(value, dict) else ():
        _assert_plain(part)
    for part in value if isinstance(value, list) else ():
        _assert_plain(part)


async def test_semantic_kernel_s_own_log_is_quiet(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    script = [call_tool("no_such_tool", {}), call_tool("kb_search", "{"), fail(500)]
    _, backend = await lab.run(script, Probe())
    await backend.invoke_once("Look.")
    assert [r for r in caplog.records if r.name.startswith("semantic_kernel")] == []
