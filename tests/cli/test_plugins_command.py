"""``holodeck-claude plugins``: the table, the causes below it, and ``--json``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.cli import main

PLUGIN = """
from holodeck_backend_claude.hookspecs import BackendType, ToolType, hookimpl

HOLODECK_API = 1

@hookimpl
def holodeck_adapt_tool():
    return ToolType("sql", config="acme.m:Config", adapter="acme.m:adapter")

@hookimpl
def holodeck_register_backend():
    return BackendType("acme", ["acmeai"], factory="acme.m:make")
"""

Install = Callable[[str, str], None]


@pytest.fixture(autouse=True)
def no_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLODECK_PLUGINS_ALLOW", raising=False)
    monkeypatch.delenv("HOLODECK_PLUGINS_BLOCK", raising=False)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a distribution with one plugin by writing what pip would write."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    modules: list[str] = []

    def add(name: str, code: str) -> None:
        module = f"{name.replace('-', '_')}_of_a_test"
        modules.append(module)
        (folder / f"{module}.py").write_text(code, encoding="utf-8")
        info = folder / f"{name}-2.3.dist-info"
        info.mkdir()
        info.joinpath("METADATA").write_text(
            f"Metadata-Version: 2.1\nName: acme-{name}\nVersion: 2.3\n", encoding="utf-8"
        )
        info.joinpath("entry_points.txt").write_text(
            f"[holodeck]\n{name} = {module}\n", encoding="utf-8"
        )

    yield add
    for module in modules:
        sys.modules.pop(module, None)


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["plugins", "--json", *arguments]) == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    return data


def entry(data: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [each for each in data["plugins"] if each["name"] == name]
    found_entry: dict[str, Any] = found
    return found_entry


def test_the_table_shows_each_plugin_with_what_it_provides(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("sql", PLUGIN)

    assert main(["plugins"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["NAME", "DISTRIBUTION", "STATE", "IMPORT", "PROVIDES"]
    (row,) = [line for line in lines if line.startswith("sql ")]
    assert row.split()[:4] == ["sql", "acme-sql", "2.3", "loaded"]
    assert row.endswith(" ms  backend acme, tool sql")


def test_causes_stand_below_the_table_and_the_exit_code_is_0(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("bad", "raise KeyError('boom')")
    install("sql", PLUGIN)

    assert main(["plugins", "--block-plugin", "acme-sql"]) == 0

    out = capsys.readouterr().out
    table, causes = out.split("\n\n")
    assert "failed" in table
    assert "blocked" in table
    assert "bad (acme-bad 2.3): importing 'bad_of_a_test' raised KeyError: 'boom'" in causes
    assert "sql (acme-sql 2.3): blocked by --block-plugin" in causes


def test_strict_shows_the_list_and_then_fails_naming_the_failures(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("bad", "raise KeyError('boom')")

    assert main(["plugins", "--strict-plugins"]) == 2

    captured = capsys.readouterr()
    assert "NAME" in captured.out
    assert "bad (acme-bad 2.3): importing" in captured.err


def test_json_tells_everything(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install("sql", PLUGIN)
    install("bad", "raise KeyError('boom')")

    data = listed(capsys)

    assert data["api"] == 1
    sql = entry(data, "sql")
    assert sql.pop("import_seconds") >= 0
    assert sql == {
        "name": "sql",
        "distribution": "acme-sql",
        "version": "2.3",
        "entry_point": "sql_of_a_test",
        "default": False,
        "state": "loaded",
        "cause": None,
        "provides": ["backend acme", "tool sql"],
        "warnings": [],
    }
    bad = entry(data, "bad")
    assert bad["state"] == "failed"
    assert "KeyError: 'boom'" in bad["cause"]
    assert entry(data, "tools")["default"] is True
    assert entry(data, "claude")["default"] is False


def test_json_is_json_even_if_a_plugin_prints(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("loud", f"print('hello')\n{PLUGIN}")

    assert entry(listed(capsys), "loud")["state"] == "loaded"


def test_a_failure_is_not_said_a_second_time_by_the_log(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("bad", "raise KeyError('boom')")

    main(["plugins"])

    assert capsys.readouterr().err == ""


def test_a_blocked_name_that_matches_nothing_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins", "--block-plugin", "sqll"]) == 0
    assert "--block-plugin names 'sqll'" in capsys.readouterr().out

    assert "sqll" in listed(capsys, "--block-plugin", "sqll")["warnings"][0]


def test_an_agent_file_adds_its_own_block_list(
    install: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install("sql", PLUGIN)
    agent = tmp_path / "agent.yaml"
    agent.write_text("plugins: {block: [acme-sql]}\n", encoding="utf-8")

    sql = entry(listed(capsys, str(agent)), "sql")

    assert sql["state"] == "blocked"
    assert sql["cause"] == "blocked by plugins.block in the agent file"
    assert sql["import_seconds"] is None


def test_a_missing_agent_file_is_an_error_that_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugins", str(tmp_path / "none.yaml")]) == 2
    assert "none.yaml" in capsys.readouterr().err
