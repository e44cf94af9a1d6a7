"""A search tool may name an embedding model of its own; tools of one model share an embedder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.config import (
    Agent,
    HierarchicalDocumentToolConfig,
    ToolConfig,
    VectorstoreTool,
)
from holodeck_backend_claude.contract import ConfigError, Embedder
from holodeck_backend_claude.registry import Registry
from holodeck_backend_claude.testing import ScriptedOpenAIAPI, hashed_words
from holodeck_backend_claude.tools.context import Contexts


async def ask_nobody(prompt: str) -> str:
    raise AssertionError(prompt)


def contexts(folder: Path, provider: dict[str, Any] | None, *tools: ToolConfig) -> Contexts:
    agent = Agent(
        name="a",
        model={"provider": "anthropic", "name": "claude"},
        instructions="Help.",
        tools=tools,
        embedding_provider=provider,
        base_dir=folder,
    )
    return Contexts(agent, Registry(), ask_model=ask_nobody)


def tool(name: str, **said: Any) -> VectorstoreTool:
    return VectorstoreTool(name=name, description="d", source=".", **said)


def embedder_of(these: Contexts, config: ToolConfig) -> Embedder:
    found = these.of(config).embeddings()
    assert found is not None
    return found


async def test_model_and_dimensions_of_a_tool_are_on_the_wire(tmp_path: Path) -> None:
    plain, small = tool("plain"), tool("small", embedding_model="small", embedding_dimensions=64)
    laws = HierarchicalDocumentToolConfig(
        name="laws", description="d", source=".", embedding_model="of-laws"
    )
    async with ScriptedOpenAIAPI(embeddings=hashed_words) as api:
        provider = {"provider": "openai", "name": "large", "endpoint": api.base_url, "api_key": "k"}
        these = contexts(tmp_path, provider, plain, small, laws)
        for config in (plain, small, laws):
            await embedder_of(these, config).embed_query("x")
        await these.close()
        asked = [(request.model, request.dimensions) for request in api.embedding_requests]
        assert asked == [("large", None), ("small", 64), ("of-laws", None)]


def test_tools_of_one_model_share_an_embedder(tmp_path: Path) -> None:
    tools = (tool("a"), tool("b"), tool("c", embedding_model="x"), tool("d", embedding_model="x"))
    provider = {"provider": "openai", "endpoint": "http://127.0.0.1:9", "api_key": "k"}
    these = contexts(tmp_path, provider, *tools)
    a, b, c, d = (embedder_of(these, config) for config in tools)
    assert a is b
    assert c is d
    assert a is not c


def test_a_model_that_the_provider_does_not_have_is_told_with_the_tool(tmp_path: Path) -> None:
    config = tool("docs", embedding_model="text-embedding-3-small")
    with pytest.raises(ConfigError, match=r"the embedding model of tool 'docs': .*the local prov"):
        contexts(tmp_path, None, config).of(config).embeddings()
