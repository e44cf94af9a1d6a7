"""What must not be imported to look around: the SDK, Semantic Kernel, and other heavy things."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("claude_agent_sdk", "semantic_kernel", "mcp", "numpy", "openai", "aiohttp", "onnxruntime")
NOT_FOR_HELP = (*HEAVY, "pydantic", "yaml", "pluggy", "importlib.metadata", "asyncio", "logging")

AGENT = """\
name: helper
model: {provider: anthropic, name: claude-sonnet-4-5}
instructions: {inline: Help.}
tools:
  - {type: vectorstore, name: kb, description: The handbook, source: docs}
"""


def imported(program: str, forbidden: tuple[str, ...]) -> list[str]:
    """Which of these a fresh interpreter has imported after running the program."""
    report = f"import sys\n{program}\nprint([m for m in {forbidden!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, check=True
    )
    last = done.stdout.splitlines()[-1]
    return [name.strip("' ") for name in last.strip("[]").split(",") if name]


def test_importing_the_package_imports_nothing_else() -> None:
    assert imported("import holodeck_backend_claude", NOT_FOR_HELP) == []


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], []])
def test_help_imports_nothing_it_does_not_need(arguments: list[str]) -> None:
    program = f"from holodeck_backend_claude.cli import main; main({arguments!r})"

    assert imported(program, NOT_FOR_HELP) == []


@pytest.mark.parametrize("arguments", [["plugins"], ["plugins", "--json"]])
def test_listing_plugins_imports_no_backend_and_no_models(arguments: list[str]) -> None:
    program = f"from holodeck_backend_claude.cli import main; assert main({arguments!r}) == 0"

    assert imported(program, (*HEAVY, "pydantic", "yaml")) == []


def test_loading_plugins_imports_no_backend_and_no_models() -> None:
    program = "from holodeck_backend_claude.plugins import load_plugins; load_plugins(strict=True)"

    assert imported(program, (*HEAVY, "pydantic", "yaml")) == []


def test_validating_imports_no_backend(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n", encoding="utf-8")
    agent = tmp_path / "agent.yaml"
    agent.write_text(AGENT, encoding="utf-8")
    program = (
        "from holodeck_backend_claude.cli import main\n"
        f"assert main(['validate', {str(agent)!r}]) == 0"
    )

    assert imported(program, HEAVY) == []
