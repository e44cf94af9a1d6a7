"""Every snippet of docs/reference/testing.md runs, and the page names all that is public."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude import testing

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "testing.md"
TEXT = PAGE.read_text(encoding="utf-8")
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def test_the_page_has_snippets() -> None:
    assert len(SNIPPETS) > 5
    assert TEXT.count("```") == 2 * len(SNIPPETS)


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
async def test_a_snippet_runs(snippet: str, tmp_path: Path) -> None:
    names: dict[str, Any] = {"__name__": "snippet"}
    exec(compile(snippet, str(PAGE), "exec"), names)
    tests: list[Callable[..., Awaitable[None]]] = [
        function for name, function in names.items() if name.startswith("test_")
    ]
    for function in tests:
        wants_folder = "tmp_path" in inspect.signature(function).parameters
        await (function(tmp_path) if wants_folder else function())


@pytest.mark.parametrize("name", testing.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    assert f"`{name}" in TEXT


def test_importing_the_package_loads_no_sdk_and_no_test_framework() -> None:
    code = (
        "import sys, holodeck_backend_claude.testing\n"
        "heavy = {'claude_agent_sdk', 'semantic_kernel', 'openai', 'mcp', 'pytest'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
