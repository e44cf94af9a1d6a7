"""A plugin that fails is left out whole, says why, and harms no other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from holodeck_backend_claude.contract import PluginError
from holodeck_backend_claude.plugins import load_plugin_objects, load_plugins

if TYPE_CHECKING:
    from tests.core.conftest import Only, Site, Why

GOOD = """
@hookimpl
def holodeck_adapt_tool():
    return ToolType("good", config="pkg.m:Config", adapter="pkg.m:Adapter")

@hookimpl
def holodeck_register_backend():
    return BackendType("good", ["goodai"], factory="pkg.m:make")
"""
SOUND_TOOL = 'ToolType("half", config="pkg.m:C", adapter="pkg.m:A")'


def hook(returned: str, name: str = "holodeck_adapt_tool", arguments: str = "") -> str:
    return f"@hookimpl\ndef {name}({arguments}):\n    return {returned}\n"


BACKEND = "holodeck_register_backend"

FAILURES = {
    "import error": ("import no_such_module_anywhere", "ModuleNotFoundError: No module named"),
    "syntax error": ("def broken(:", "SyntaxError"),
    "any exception": ("raise KeyError('boom')", "KeyError: 'boom'"),
    "SystemExit": ("raise SystemExit(3)", "SystemExit: 3"),
    "sys.exit": ("import sys; sys.exit('bye')", "SystemExit: bye"),
    "CancelledError": (
        "import asyncio; raise asyncio.CancelledError()",
        "raised CancelledError",
    ),
    "GeneratorExit": ("raise GeneratorExit", "raised GeneratorExit"),
    "unprintable error": (
        "class E(Exception):\n    def __str__(self): raise ValueError\nraise E()",
        "raised E",
    ),
    "wrong signature": (hook("[]", arguments="config"), "config"),
    "unknown hook": (
        hook("[]", name="holodeck_adapt_tools"),
        "unknown hook 'holodeck_adapt_tools'",
    ),
    "unknown hook without the marker": (
        "def holodeck_register_backends(): return []",
        "unknown hook 'holodeck_register_backends'",
    ),
    "hook without the marker": (
        "def holodeck_adapt_tool(): return []",
        "put @hookimpl above it",
    ),
    "no API version": ("del HOLODECK_API", "HOLODECK_API = 1"),
    "newer API version": ("HOLODECK_API = 2", "written for plugin API 2, and this is 1"),
    "API version is text": ("HOLODECK_API = '1'", "not a whole number"),
    "API version is True": ("HOLODECK_API = True", "not a whole number"),
    "API version is zero": ("HOLODECK_API = 0", "not a whole number"),
    "hook raises": (
        "@hookimpl\ndef holodeck_adapt_tool():\n    raise RuntimeError('no luck')",
        "holodeck_adapt_tool raised RuntimeError: no luck",
    ),
    "hook exits": (
        "@hookimpl\ndef holodeck_adapt_tool():\n    raise SystemExit",
        "holodeck_adapt_tool raised SystemExit",
    ),
    "async hook": (
        "@hookimpl\nasync def holodeck_adapt_tool():\n    return []",
        "async function",
    ),
    "returns a number": (hook("42"), "holodeck_adapt_tool returned 42"),
    "returns a dict": (hook("{'type': 'x'}"), "returned {'type': 'x'}"),
    "returns text": (hook("'sql'"), "returned 'sql'"),
    "returns a generator": (hook("(x for x in [])"), "returned <generator"),
    "returns something unprintable": (
        "class U:\n    def __repr__(self): raise ValueError\n" + hook("U()"),
        "returned an object of U",
    ),
    "a None in the list": (hook(f"[{SOUND_TOOL}, None]"), "returned None"),
    "a backend from the tool hook": (
        hook("BackendType('x', [], factory='a.b:c')"),
        "it may return ToolType or AdapterOverride",
    ),
    "a tool from the backend hook": (hook(SOUND_TOOL, name=BACKEND), "it may return BackendType"),
    "the class itself": (hook("ToolType"), "returned <class"),
    "two types of one name": (hook(f"[{SOUND_TOOL}, {SOUND_TOOL}]"), "tool type 'half' twice"),
    "two backends of one provider": (
        hook(
            "[BackendType('a', ['p'], factory='m:f'), BackendType('b', ['p'], factory='m:f')]",
            name=BACKEND,
        ),
        "the model provider 'p' twice",
    ),
    "a sound tool, then an unsound backend": (
        hook(SOUND_TOOL) + hook("BackendType('x', 'openai', factory='m:f')", name=BACKEND),
        "providers is 'openai', not a list",
    ),
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_failing_plugin_is_left_out_whole_and_says_why(
    case: str, site: Site, only: Only, why: Why
) -> None:
    code, cause = FAILURES[case]
    site.add("acme-bad", code, name="bad", version="0.9")
    site.add("acme-good", GOOD, name="good")

    loaded = site.load()

    bad = only(loaded, "bad")
    assert (bad.state, bad.distribution, bad.version) == ("failed", "acme-bad", "0.9")
    assert cause in why(loaded, "bad")
    assert "\n" not in why(loaded, "bad")
    assert only(loaded, "good").state == "loaded"
    assert set(loaded.registry.tool_types) == {"good"}
    assert set(loaded.registry.backends) == {"good"}


UNSOUND = {
    "ToolType('', config='m:C', adapter='m:A')": "type is ''",
    "ToolType(None, config='m:C', adapter='m:A')": "type is None",
    "ToolType('Has Space', config='m:C', adapter='m:A')": "type is 'Has Space'",
    "ToolType('-x', config='m:C', adapter='m:A')": "type is '-x'",
    "ToolType('x' * 65, config='m:C', adapter='m:A')": "type is 'xxx",
    "ToolType('x', config='no colon', adapter='m:A')": "config 'no colon' is not an import string",
    "ToolType('x', config='m:', adapter='m:A')": "config 'm:' is not an import string",
    "ToolType('x', config=dict, adapter='m:A')": "neither a subclass of ToolConfig",
    "ToolType('x', config=None, adapter='m:A')": "config is None",
    "ToolType('x', config='m:C', adapter=3)": "adapter is 3",
    "ToolType('x', config='m:C', adapter=None)": "adapter is None",
    "ToolType('x', config='m:C', adapter='m:A', open=3)": "open is 3",
    "ToolType('x', config='m:C', adapter='m:A', open='m.o')": "open 'm.o' is not an import",
    "ToolType('x', config='m:C', adapter='m:A', instructions='Be nice')": "instructions 'Be nice'",
    "ToolType('x', config='m:C', adapter='m:A', replaces=1)": "replaces is 1",
    "AdapterOverride('', 'b', 'm:A')": "type is ''",
    "AdapterOverride('x', 7, 'm:A')": "backend is 7",
    "AdapterOverride('x', 'b', 7)": "adapter is 7",
    "BackendType('', [], factory='m:f')": "name is ''",
    "BackendType('B', [], factory='m:f')": "name is 'B'",
    "BackendType('b', None, factory='m:f')": "providers is None",
    "BackendType('b', [''], factory='m:f')": "a provider is ''",
    "BackendType('b', [3], factory='m:f')": "a provider is 3",
    "BackendType('b', [], factory=None)": "factory is None",
    "BackendType('b', [], factory='f')": "factory 'f' is not an import string",
    "BackendType('b', [], factory='m:f', settings_key='k')": "give both",
    "BackendType('b', [], factory='m:f', settings='m:S')": "give both",
    "BackendType('b', [], factory='m:f', settings_key='', settings='m:S')": "settings_key is ''",
    "BackendType('b', [], factory='m:f', settings_key='model', settings='m:S')": "'model' is a key",
    "BackendType('b', [], factory='m:f', settings_key='k', settings=dict)": "a pydantic model",
    "BackendType('b', [], factory='m:f', replaces='yes')": "replaces is 'yes'",
}


@pytest.mark.parametrize("description", UNSOUND)
def test_an_unsound_description_names_its_field(
    description: str, site: Site, only: Only, why: Why
) -> None:
    name = BACKEND if description.startswith("Backend") else "holodeck_adapt_tool"
    site.add("acme-bad", hook(description, name=name), name="bad")

    loaded = site.load()

    assert only(loaded, "bad").state == "failed"
    assert UNSOUND[description] in why(loaded, "bad")
    assert not loaded.registry.tool_types
    assert not loaded.registry.backends


def test_classes_and_callables_are_as_good_as_import_strings(site: Site, only: Only) -> None:
    site.add("acme", """
from pydantic import BaseModel
from holodeck_backend_claude.config import ToolConfig

class Config(ToolConfig): ...
class Settings(BaseModel): ...

@hookimpl
def holodeck_adapt_tool():
    return (ToolType("x", config=Config, adapter=lambda c, i: None, instructions=lambda c: None),)

@hookimpl
def holodeck_register_backend():
    return BackendType("b", ("p",), factory=print, settings_key="acme", settings=Settings)
""", name="sound")  # fmt: skip

    assert only(site.load(), "sound").provides == ("backend b", "tool x")


def test_the_cause_of_an_import_error_names_file_and_line(site: Site, why: Why) -> None:
    site.add("acme-bad", "value = 1\nraise KeyError('boom')", name="bad")

    cause = why(site.load(), "bad")

    assert f"{site.folder / 'acme_bad_plugin.py'}:7" in cause


def test_an_entry_point_that_names_nothing_is_a_failure(site: Site, why: Why) -> None:
    site.add("acme", points="[holodeck]\nodd = acme plugin!\nnone = acme_plugin:nothing\n")

    loaded = site.load()

    assert "not written as" in why(loaded, "odd")
    assert "AttributeError" in why(loaded, "none")


def test_a_plugin_that_contributes_nothing_loads_with_a_warning(site: Site, only: Only) -> None:
    site.add("acme-idle", hook("[]"), name="idle")

    info = only(site.load(), "idle")

    assert info.state == "loaded"
    assert "contributes nothing" in info.warnings[0]


def test_an_unknown_hook_that_says_it_is_optional_is_let_be(site: Site, only: Only) -> None:
    site.add("acme", "@hookimpl(optionalhook=True)\ndef holodeck_future(): ...", name="ahead")

    assert only(site.load(), "ahead").state == "loaded"


def test_importing_our_own_package_by_name_is_no_unknown_hook(site: Site, only: Only) -> None:
    site.add("acme", "import holodeck_backend_claude\n" + hook(SOUND_TOOL), name="plain")

    assert only(site.load(), "plain").state == "loaded"


def test_what_a_plugin_prints_does_not_reach_stdout(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.add("acme", "print('hello from import')\n" + hook(f"(print('hook'), {SOUND_TOOL})[1]"))

    site.load()

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "hello from import\nhook\n"


def test_ctrl_c_during_an_import_is_not_a_failure_of_the_plugin(site: Site) -> None:
    site.add("acme", "raise KeyboardInterrupt")

    with pytest.raises(KeyboardInterrupt):
        site.load()


def test_strict_loading_names_every_failure(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.add("acme-one", "raise KeyError('first')", name="one")
    site.add("acme-two", "raise KeyError('second')", name="two")

    with pytest.raises(PluginError) as raised:
        load_plugins(strict=True, quiet=True, environ={})

    text = str(raised.value)
    assert "plugins failed to load" in text
    assert "one (acme-one 1.0): " in text
    assert "two (acme-two 1.0): " in text
    assert "KeyError: 'first'" in text
    assert "KeyError: 'second'" in text


def test_a_failure_is_logged_unless_the_caller_shows_it(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.add("acme-one", "raise KeyError('first')", name="one")

    load_plugins(quiet=True, environ={})
    assert "acme-one" not in caplog.text

    load_plugins(environ={})
    assert "the plugin 'one' of acme-one 1.0 is left out" in caplog.text


def test_plugin_objects_load_without_being_installed() -> None:
    from holodeck_backend_claude.hookspecs import ToolType, hookimpl

    class Mine:
        HOLODECK_API = 1

        @hookimpl
        def holodeck_adapt_tool(self) -> ToolType:
            return ToolType("mine", config="m:C", adapter="m:A")

    loaded = load_plugin_objects({"mine": Mine()})

    assert list(loaded.registry.tool_types) == ["mine"]
    assert [info.name for info in loaded.infos] == ["mine"]


def test_a_plugin_object_that_fails_raises_at_once() -> None:
    with pytest.raises(PluginError, match="HOLODECK_API"):
        load_plugin_objects({"mine": object()})


def test_a_hanging_import_is_named_on_stderr_and_ctrl_c_ends_it(site: Site) -> None:
    site.add("acme-slow", "import threading\nthreading.Event().wait()", name="slow")
    with subprocess.Popen(
        [sys.executable, "-m", "holodeck_backend_claude.cli", "plugins"],
        env={**os.environ, "PYTHONPATH": str(site.folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        line = next(line for line in lines if "still loading" in line)
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()

    assert "'slow' of acme-slow 1.0" in line
    assert "Ctrl-C" in line
    assert rest.strip() == ""
    assert process.returncode == 130


def test_a_secret_in_the_error_of_a_plugin_is_not_shown(site: Site, why: Why) -> None:
    site.add("acme-leaky", "raise RuntimeError('redis://app:s3cr3t@host refused')")
    cause = why(site.load(), "acme-leaky")
    assert "raised RuntimeError: redis://app:[secret]@host refused (" in cause
