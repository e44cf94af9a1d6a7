"""The plugin pages: signatures and fields as the code has them, and every snippet works."""

from __future__ import annotations

import dataclasses
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from holodeck_backend_claude import hookspecs
from holodeck_backend_claude.plugins.checks import AGENT_KEYS
from holodeck_backend_claude.plugins.hooks import HOOKS

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = (DOCS / "plugins" / "reference.md").read_text(encoding="utf-8")
DESCRIPTIONS = ("BackendType", "ToolType", "AdapterOverride", "RerankerType", "ToolContext")


def blocks(page: Path, language: str) -> list[tuple[str, str]]:
    """``(title, text)`` of every fenced block of this language."""
    pattern = rf'^```{language}(?: title="([^"]+)")?\n(.*?)^```$'
    found = re.findall(pattern, page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [(title, text) for title, text in found]


def declaration(field: dataclasses.Field[object]) -> str:
    default = "" if field.default is dataclasses.MISSING else f" = {field.default!r}"
    return f"    {field.name}: {field.type}{default}\n"


def test_there_are_the_three_hooks() -> None:
    assert HOOKS == (
        "holodeck_adapt_tool", "holodeck_register_backend", "holodeck_register_reranker",
    )  # fmt: skip


@pytest.mark.parametrize("hook", HOOKS)
def test_the_exact_signature_of_every_hook_stands_in_the_reference(hook: str) -> None:
    signature = str(inspect.signature(getattr(hookspecs, hook))).replace("'", "")

    assert f"```python\ndef {hook}{signature}\n```" in REFERENCE


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_takes_nothing_and_is_documented_in_the_code(hook: str) -> None:
    function = getattr(hookspecs, hook)

    assert not inspect.signature(function).parameters
    assert function.__doc__


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_the_fields_of_every_description_stand_in_the_reference(name: str) -> None:
    fields = dataclasses.fields(getattr(hookspecs, name))

    declared = f"class {name}:\n" + "".join(declaration(field) for field in fields)

    assert f"```python\n{declared}```" in REFERENCE
    section = REFERENCE.split(f"### {name}\n")[1].split("\n### ")[0]
    assert [row.split("`")[1] for row in section.splitlines() if row.startswith("| `")] == [
        field.name for field in fields
    ]


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_the_fields_of_every_description_are_documented_in_the_code(name: str) -> None:
    description = getattr(hookspecs, name)

    for field in dataclasses.fields(description):
        assert f"{field.name}:" in description.__doc__


def test_no_backend_may_take_a_key_that_the_core_reads() -> None:
    from holodeck_backend_claude.config.root_keys import FILE_KEYS

    assert set(FILE_KEYS) == AGENT_KEYS


def test_the_tool_type_and_the_backend_of_the_page_pass_their_own_tests(tmp_path: Path) -> None:
    page = DOCS / "plugins" / "index.md"
    for language in ("toml", "python", "yaml"):
        for title, text in blocks(page, language):
            path = tmp_path / title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:asyncio", "tests"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module = project["entry-points"]["holodeck"]["dice"]
    assert (tmp_path / (module.replace(".", "/") + ".py")).is_file()
    tool = yaml.safe_load((tmp_path / "agent.yaml").read_text(encoding="utf-8"))["tools"][0]
    assert tool["type"] == "dice"


def test_the_python_of_the_how_to_runs(capsys: pytest.CaptureFixture[str]) -> None:
    ((_, code),) = blocks(DOCS / "how-to" / "block-plugins.md", "python")

    exec(code, {})

    assert "semantic-kernel blocked" in capsys.readouterr().out


def test_the_lists_of_the_how_to_are_what_an_agent_may_say() -> None:
    from holodeck_backend_claude.config import PluginsConfig

    for _, text in blocks(DOCS / "how-to" / "block-plugins.md", "yaml"):
        PluginsConfig.model_validate(yaml.safe_load(text)["plugins"])
