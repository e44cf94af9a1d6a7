"""Plugins of other distributions, built and installed by pip into an environment of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

PROJECTS = Path(__file__).parent / "third_party"

AGENT = """\
name: counter
model: {{provider: {provider}, name: any-model}}
instructions: {{inline: Count words.}}
tools:
  - type: word-count
    name: count
    description: Counts words.
    unit: {unit}
"""
QUESTION = "How many words are these six?"


class Environment:
    """A virtual environment that sees what this one has, and has plugins of its own."""

    def __init__(self, folder: Path) -> None:
        self.python = folder / "env" / "bin" / "python"
        self._sources = folder / "sources"
        venv.EnvBuilder(with_pip=False, symlinks=True).create(folder / "env")
        (site,) = (folder / "env").glob("lib/python*/site-packages")
        ours = [path for path in sys.path if Path(path).name == "site-packages"]
        lines = [f"import site; site.addsitedir({path!r})\n" for path in ours]
        site.joinpath("ours.pth").write_text("".join(lines), encoding="utf-8")

    def install(self, project: str, *, editable: bool = False) -> None:
        """``pip install`` a project, built from a copy of its sources."""
        sources = self._sources / project
        shutil.copytree(PROJECTS / project, sources)
        shutil.copy(PROJECTS / "wheel_backend.py", sources)
        target = ["--editable", str(sources)] if editable else [str(sources)]
        self.pip("install", "--no-index", "--no-deps", "--no-build-isolation", *target)

    def pip(self, *arguments: str) -> None:
        """Run pip for this environment, without any configuration of the machine."""
        subprocess.run(
            [sys.executable, "-m", "pip", "--python", str(self.python), "--quiet", *arguments],
            env={**os.environ, "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
            check=True,
        )

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run ``holodeck-claude`` there."""
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("HOLODECK_")
        }
        return subprocess.run(
            [self.python, "-m", "holodeck_backend_claude.cli", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def plugins(self, *arguments: str) -> dict[str, dict[str, Any]]:
        """What ``plugins --json`` says, by name."""
        done = self.command("plugins", "--json", *arguments)
        assert done.returncode == 0, done.stderr
        return {plugin["name"]: plugin for plugin in json.loads(done.stdout)["plugins"]}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Both plugins installed."""
    environment = Environment(tmp_path_factory.mktemp("third_party"))
    environment.install("words")
    environment.install("broken")
    return environment


def agent_file(folder: Path, *, provider: str = "acme", unit: str = "words", more: str = "") -> str:
    path = folder / "agent.yaml"
    path.write_text(AGENT.format(provider=provider, unit=unit) + more, encoding="utf-8")
    return str(path)


def test_an_installed_plugin_is_listed_with_what_it_provides(environment: Environment) -> None:
    words = environment.plugins()["words"]

    assert words["state"] == "loaded"
    assert (words["distribution"], words["version"]) == ("acme-words", "1.2")
    assert words["entry_point"] == "acme_words.plugin"
    assert words["provides"] == ["backend all-tools", "tool word-count"]


def test_a_plugin_that_raises_is_reported_and_harms_nothing(
    environment: Environment, tmp_path: Path
) -> None:
    plugins = environment.plugins()

    assert plugins["broken"]["state"] == "failed"
    assert (plugins["broken"]["distribution"], plugins["broken"]["version"]) == (
        "acme-broken",
        "1.2",
    )
    assert "the licence of acme-broken has expired" in plugins["broken"]["cause"]
    assert {name for name, plugin in plugins.items() if plugin["state"] == "loaded"} == {
        "tools",
        "semantic-kernel",
        "claude",
        "words",
    }
    done = environment.command("run", agent_file(tmp_path), QUESTION)
    assert done.returncode == 0
    assert "acme-broken" in done.stderr
    assert "acme-broken" not in done.stdout


def test_its_backend_runs_its_tool(environment: Environment, tmp_path: Path) -> None:
    done = environment.command("run", agent_file(tmp_path), QUESTION)

    assert done.returncode == 0, done.stderr
    assert done.stdout == "Tools say: 6 words\n"


def test_its_backend_reads_its_own_settings_block(environment: Environment, tmp_path: Path) -> None:
    path = agent_file(tmp_path, more="acme: {greeting: 'Counted:'}\n")

    assert environment.command("run", path, QUESTION).stdout == "Counted: 6 words\n"


def test_its_backend_can_be_named_for_another_provider(
    environment: Environment, tmp_path: Path
) -> None:
    path = agent_file(tmp_path, provider="anthropic", more="backend: all-tools\n")

    assert environment.command("run", path, QUESTION).stdout == "Tools say: 6 words\n"


def test_its_tool_type_works_on_the_claude_backend(
    environment: Environment, tmp_path: Path
) -> None:
    path = agent_file(tmp_path, provider="anthropic", unit="counted-words")

    done = environment.command("run", path, QUESTION, "--offline", "--json")

    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert [call["name"] for call in result["tool_calls"]] == ["count"]
    assert [each["result"] for each in result["tool_results"]] == ["6 counted-words"]
    assert "6 counted-words" in result["response"]


def test_its_tool_type_works_on_semantic_kernel(environment: Environment, tmp_path: Path) -> None:
    path = agent_file(tmp_path, provider="openai", unit="counted-words")

    done = environment.command("run", path, QUESTION, "--offline", "--json")

    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert [each["result"] for each in result["tool_results"]] == ["6 counted-words"]


def test_its_tool_is_validated_by_its_own_config(environment: Environment, tmp_path: Path) -> None:
    assert environment.command("validate", agent_file(tmp_path)).returncode == 0

    done = environment.command("validate", agent_file(tmp_path, unit="[1]"))

    assert done.returncode == 2
    assert "unit" in done.stderr


def test_blocked_it_is_gone_and_the_agent_says_why(
    environment: Environment, tmp_path: Path
) -> None:
    blocked = environment.plugins("--block-plugin", "acme-words")["words"]
    assert (blocked["state"], blocked["provides"]) == ("blocked", [])

    done = environment.command("--block-plugin", "words", "run", agent_file(tmp_path), QUESTION)

    assert done.returncode == 2
    assert done.stdout == ""
    assert "word-count" in done.stderr
    assert "blocked by --block-plugin" in done.stderr


def test_strict_loading_stops_at_the_broken_one(environment: Environment, tmp_path: Path) -> None:
    done = environment.command("--strict-plugins", "run", agent_file(tmp_path), QUESTION)

    assert done.returncode == 2
    assert "broken (acme-broken 1.2)" in done.stderr


def test_uninstalled_it_is_gone(tmp_path: Path) -> None:
    environment = Environment(tmp_path)
    environment.install("words")
    assert "words" in environment.plugins()

    environment.pip("uninstall", "--yes", "acme-words")

    assert "words" not in environment.plugins()
    done = environment.command("run", agent_file(tmp_path), QUESTION)
    assert done.returncode == 2
    assert "plugin" in done.stderr


def test_installed_in_editable_mode_it_is_the_same(tmp_path: Path) -> None:
    environment = Environment(tmp_path)
    environment.install("words", editable=True)

    assert environment.plugins()["words"]["state"] == "loaded"
