"""Reranking as agent.yaml asks for it: a folder, a plugin's reranker, and what is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from holodeck_backend_claude.config import Agent, HierarchicalDocumentToolConfig, RerankerConfig
from holodeck_backend_claude.contract import BackendInitError, ConfigError, PluginError
from holodeck_backend_claude.hookspecs import RerankerType, ToolContext, hookimpl
from holodeck_backend_claude.plugins import load_plugin_objects
from holodeck_backend_claude.tools.hierarchical import HierarchicalDocumentTool
from holodeck_backend_claude.tools.open_tools import OpenTools
from tests.support.cross_encoders import write_cross_encoder

HANDBOOK = "# Handbook\n\n## Refunds\n\nA refund is slow.\n\n## Parcels\n\nA refund by parcel.\n"


class Plugin:
    """Brings the reranker ``acme``, which likes parcels, and says when it is closed."""

    HOLODECK_API = 1

    def __init__(self, **more: Any) -> None:
        self.events: list[str] = []
        self.more = more

    @hookimpl
    def holodeck_register_reranker(self) -> RerankerType:
        return RerankerType(**{"provider": "acme", "open": self.open, **self.more})

    @asynccontextmanager
    async def open(self, model: RerankerConfig, context: ToolContext) -> AsyncIterator[Plugin]:
        self.events.append(f"opened {model.name} in {context.base_dir.name}")
        yield self
        self.events.append("closed")

    async def scores(self, _query: str, passages: Sequence[str]) -> Sequence[float]:
        return [0.75 if "parcel" in passage else 0.25 for passage in passages]


def config(**given: Any) -> HierarchicalDocumentToolConfig:
    told = {"name": "law", "description": "Rules", "source": "docs", "search_mode": "keyword"}
    return HierarchicalDocumentToolConfig(**{**told, **given})


async def _ask(prompt: str) -> str:
    return prompt


def open_tools(base: Path, plugin: Plugin | None = None, **given: Any) -> OpenTools:
    (base / "docs").mkdir(exist_ok=True)
    (base / "docs" / "handbook.md").write_text(HANDBOOK)
    agent = Agent(
        name="support",
        model={"provider": "anthropic", "name": "claude"},
        instructions="Help.",
        tools=(config(enable_reranking=True, **given),),
        base_dir=base,
    )
    plugins = load_plugin_objects({"acme": plugin} if plugin else {}, defaults=True)
    return OpenTools(agent, plugins.registry, backend="x", ask_model=_ask)


async def found(tools: OpenTools, query: str = "refund") -> str:
    await tools.open()
    try:
        (tool,) = tools.tools
        return (await tool.call({"query": query})).text
    finally:
        await tools.close()


async def test_a_cross_encoder_in_a_folder_beside_agent_yaml_reranks(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="the extra [rerank] is not installed")
    write_cross_encoder(tmp_path / "models" / "ranker", {"parcel": 1.0, "slow": -1.0})
    model = {"provider": "local", "name": "models/ranker"}
    text = await found(open_tools(tmp_path, reranker_model=model))
    first, second = text.split("\n---\n")
    assert first.startswith("Score: 0.731 | Source: handbook.md\nLocation: Handbook > Parcels")
    assert second.startswith("Score: 0.269 | Source: handbook.md\nLocation: Handbook > Refunds")


async def test_the_reranker_of_a_plugin_reranks_and_is_closed_with_the_tool(
    tmp_path: Path,
) -> None:
    plugin = Plugin()
    model = {"provider": "acme", "name": "best"}
    text = await found(open_tools(tmp_path, plugin, reranker_model=model))
    assert text.startswith("Score: 0.750 | Source: handbook.md\nLocation: Handbook > Parcels")
    assert plugin.events == [f"opened best in {tmp_path.name}", "closed"]


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (
            {"provider": "openai", "name": "gpt"},
            r"no loaded plugin provides 'openai'; known providers: local\. Install the plugin",
        ),
        ({"provider": "local"}, "needs 'name': a folder with model.onnx"),
        ({"provider": "local", "name": "nowhere"}, "there is no cross-encoder in .*nowhere"),
    ],
)
async def test_a_reranker_that_cannot_be_had_is_told_with_the_tool(
    tmp_path: Path, model: dict[str, str], why: str
) -> None:
    with pytest.raises(BackendInitError, match=rf"tool 'law'.* could not be opened: .*{why}"):
        await open_tools(tmp_path, reranker_model=model).open()


def test_reranking_needs_a_model() -> None:
    with pytest.raises(ValidationError, match="'enable_reranking' needs 'reranker_model'"):
        config(enable_reranking=True)
    given = config(enable_reranking=True, reranker_model={"provider": "acme"})
    with pytest.raises(ConfigError, match="'enable_reranking' needs a reranker"):
        HierarchicalDocumentTool(given, base_dir=Path(), cache_dir=Path(), embedder=None)


def test_the_built_in_keyword_index_is_served_and_no_other() -> None:
    assert config(keyword_index={"provider": "in-memory"}).keyword_index is not None
    with pytest.raises(ValidationError, match="needs no server, so 'opensearch' is not served"):
        config(keyword_index={"provider": "opensearch", "endpoint": "https://search"})


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"provider": "local"}, "claims the reranker 'local', which .* it must say replaces=True"),
        ({"provider": "not a name"}, r"RerankerType\('not a name'\): provider is"),
        ({"open": 3}, r"RerankerType\('acme'\): open is 3"),
        ({"replaces": "yes"}, "replaces is 'yes'"),
    ],
)
def test_a_plugin_with_an_unsound_reranker_is_left_out(more: dict[str, Any], why: str) -> None:
    with pytest.raises(PluginError, match=why):
        load_plugin_objects({"acme": Plugin(**more)}, defaults=True)


def test_a_plugin_may_replace_the_built_in_reranker_and_is_listed_with_it() -> None:
    plugin = Plugin(provider="local", replaces=True)
    plugins = load_plugin_objects({"acme": plugin}, defaults=True)
    assert plugins.registry.rerankers["local"].origin.plugin == "acme"
    assert plugins.infos[-1].provides == ("reranker local",)
