"""The vectorstore, opened over a real folder as a backend opens it."""

from __future__ import annotations

from pathlib import Path

import pytest

from holodeck_backend_claude.config import Agent, VectorstoreTool
from holodeck_backend_claude.contract import BackendInitError, ShowProgress
from holodeck_backend_claude.registry import Origin, Provided, Registry
from holodeck_backend_claude.tools import plugin
from holodeck_backend_claude.tools.open_tools import OpenTools


async def _ask(prompt: str) -> str:
    return prompt


def open_tools(folder: Path, source: str, progress: ShowProgress | None = None) -> OpenTools:
    origin = Origin("tools", "holodeck-backend-claude", "0")
    types = {kind.type: Provided(kind, origin) for kind in plugin.holodeck_adapt_tool()}
    agent = Agent(
        name="support",
        model={"provider": "anthropic", "name": "claude"},
        instructions="Help.",
        tools=(VectorstoreTool(name="kb", description="The handbook.", source=source),),
        base_dir=folder,
    )
    registry = Registry(tool_types=types)
    if progress is not None:
        registry = registry.with_progress(progress)
    return OpenTools(agent, registry, backend="x", ask_model=_ask)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "refunds.md").write_text("# Refunds\n\nA refund is paid within 30 days.\n")
    return tmp_path


async def test_a_folder_is_indexed_searched_and_closed(folder: Path) -> None:
    told: list[tuple[str, int, int]] = []
    tools = open_tools(folder, "docs", progress=lambda *part: told.append(part))
    await tools.open()
    (tool,) = tools.tools
    assert tool.name == "kb_search"
    assert tool.description == "Search kb: The handbook."
    assert tool.annotations.read_only is True
    result = await tool.call({"query": "When is a refund paid?"})
    assert not result.is_error
    assert "within 30 days" in result.text
    assert "refunds.md" in result.text
    await tools.close()
    assert told
    assert list((folder / ".holodeck" / "tools" / "support" / "kb").iterdir())
    late = await tool.call({"query": "refund"})
    assert late.text == "BackendSessionError: Tool 'kb' is not initialized"


async def test_a_source_that_does_not_exist_is_told_with_the_tool(folder: Path) -> None:
    with pytest.raises(
        BackendInitError, match=r"^tool 'kb' \(vectorstore\) could not be opened: .*nowhere"
    ):
        await open_tools(folder, "nowhere").open()
