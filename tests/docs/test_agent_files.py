"""Every agent.yaml that a how-to shows is valid."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from holodeck_backend_claude.config import read_agent
from holodeck_backend_claude.plugins import load_plugins

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r'^```yaml title="agent\.yaml"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
SHOWN = [
    pytest.param(text, id=f"{page.stem}-{number}")
    for page in sorted((DOCS / "how-to").glob("*.md"))
    for number, text in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")))
]


@pytest.mark.parametrize("text", SHOWN)
def test_it_is_valid(text: str, tmp_path: Path) -> None:
    shutil.copytree(DOCS / "examples" / "handbook" / "documents", tmp_path / "documents")
    (tmp_path / "notes").mkdir()
    (tmp_path / "agent.yaml").write_text(text, encoding="utf-8")
    assert read_agent(tmp_path, load_plugins().registry, environ={}).notices == ()
