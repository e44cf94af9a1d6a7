"""The seed's adapters: names, messages and results to the letter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from unittest.mock import AsyncMock, MagicMock, patch

import pytest

from holodeck_backend_claude import (
    BackendInitError,
    BackendSessionError,
    HierarchicalDocToolAdapter,
    VectorStoreToolAdapter,
    build_holodeck_sdk_server,
    create_tool_adapters,
)
from holodeck_backend_claude.config import (
    FunctionTool,
    HierarchicalDocumentToolConfig,
    MCPTool,
    PromptTool,
    VectorstoreTool,
)
from holodeck_backend_claude.retrieval import SearchResult

QUERY = {"query": "test query"}


def vector_config(name: str = "kb", description: str = "The handbook") -> VectorstoreTool:
    return VectorstoreTool(name=name, description=description, source="docs")


def document_config(name: str = "law") -> HierarchicalDocumentToolConfig:
    return HierarchicalDocumentToolConfig(name=name, description="The law", source="law")


def vector_instance(result: str = "found it", *, initialized: bool = True) -> MagicMock:
    instance = MagicMock(is_initialized=initialized)
    instance.search = AsyncMock(return_value=result)
    return instance


def document_instance(results: list[Any] | None = None, *, initialized: bool = True) -> MagicMock:
    instance = MagicMock(_initialized=initialized)
    instance.search = AsyncMock(return_value=results or [])
    return instance


def text_of(result: dict[str, Any]) -> str:
    assert list(result) == ["content"]
    [block] = result["content"]
    assert block["type"] == "text"
    return str(block["text"])


class TestVectorStoreToolAdapter:
    def test_keeps_config_and_instance(self) -> None:
        config, instance = vector_config(), vector_instance()
        adapter = VectorStoreToolAdapter(config, instance)
        assert adapter.config is config
        assert adapter.instance is instance

    def test_is_named_after_the_config(self) -> None:
        tool = VectorStoreToolAdapter(vector_config(), vector_instance()).to_sdk_tool()
        assert tool.name == "kb_search"
        assert tool.description == "Search kb: The handbook"
        assert tool.input_schema == {"query": str}

    def test_cuts_the_description_at_200_characters(self) -> None:
        adapter = VectorStoreToolAdapter(vector_config(description="x" * 500), vector_instance())
        description = adapter.to_sdk_tool().description
        assert len(description) == 200
        assert description.endswith("x...")

    def test_a_description_of_exactly_200_characters_stays_whole(self) -> None:
        text = "x" * (200 - len("Search kb: "))
        adapter = VectorStoreToolAdapter(vector_config(description=text), vector_instance())
        assert adapter.to_sdk_tool().description == f"Search kb: {text}"

    def test_is_made_with_the_sdks_decorator(self) -> None:
        with patch("claude_agent_sdk.tool") as decorator:
            VectorStoreToolAdapter(vector_config(), vector_instance()).to_sdk_tool()
        decorator.assert_called_once_with("kb_search", "Search kb: The handbook", {"query": str})

    async def test_the_handler_searches(self) -> None:
        instance = vector_instance("found it")
        tool = VectorStoreToolAdapter(vector_config(), instance).to_sdk_tool()
        assert text_of(await tool.handler(QUERY)) == "found it"
        instance.search.assert_awaited_once_with("test query")

    async def test_nothing_found_is_said_in_words(self) -> None:
        tool = VectorStoreToolAdapter(vector_config(), vector_instance("")).to_sdk_tool()
        assert text_of(await tool.handler(QUERY)) == "No results found."

    async def test_an_error_of_the_search_is_not_swallowed(self) -> None:
        instance = vector_instance()
        instance.search.side_effect = ZeroDivisionError("boom")
        tool = VectorStoreToolAdapter(vector_config(), instance).to_sdk_tool()
        with pytest.raises(ZeroDivisionError, match="boom"):
            await tool.handler(QUERY)

    async def test_an_uninitialized_tool_is_named_and_not_searched(self) -> None:
        instance = vector_instance(initialized=False)
        tool = VectorStoreToolAdapter(vector_config(), instance).to_sdk_tool()
        with pytest.raises(BackendSessionError, match=r"^Tool 'kb' is not initialized$"):
            await tool.handler(QUERY)
        instance.search.assert_not_called()

    async def test_each_adapter_calls_its_own_instance(self) -> None:
        instances = {"one": vector_instance("from one"), "two": vector_instance("from two")}
        adapters = create_tool_adapters([vector_config("one"), vector_config("two")], instances)
        texts = [text_of(await a.to_sdk_tool().handler(QUERY)) for a in adapters]
        assert texts == ["from one", "from two"]


class TestHierarchicalDocToolAdapter:
    def results(self) -> list[SearchResult]:
        return [
            SearchResult("c1", "Text one.", 0.85, "law.md", ["Part A", "Chapter 1"], "A-1"),
            SearchResult("c2", "Text two.", 0.5, "law.md", [], ""),
        ]

    def test_keeps_config_and_instance_and_is_named_after_the_config(self) -> None:
        config, instance = document_config(), document_instance()
        adapter = HierarchicalDocToolAdapter(config, instance)
        assert adapter.config is config
        assert adapter.instance is instance
        assert adapter.to_sdk_tool().name == "law_search"

    async def test_results_are_formatted_one_by_one_and_joined(self) -> None:
        results = self.results()
        instance = document_instance(results)
        tool = HierarchicalDocToolAdapter(document_config(), instance).to_sdk_tool()
        text = text_of(await tool.handler(QUERY))
        assert text == "\n---\n".join(result.format() for result in results)
        assert "Score: 0.850 | Source: law.md" in text
        assert "Location: Part A > Chapter 1" in text
        instance.search.assert_awaited_once_with("test query")

    async def test_nothing_found_is_said_in_words(self) -> None:
        tool = HierarchicalDocToolAdapter(document_config(), document_instance()).to_sdk_tool()
        assert text_of(await tool.handler(QUERY)) == "No results found."

    async def test_an_error_of_the_search_is_not_swallowed(self) -> None:
        instance = document_instance()
        instance.search.side_effect = OSError("disk")
        tool = HierarchicalDocToolAdapter(document_config(), instance).to_sdk_tool()
        with pytest.raises(OSError, match="disk"):
            await tool.handler(QUERY)

    async def test_an_uninitialized_tool_is_named_and_not_searched(self) -> None:
        instance = document_instance(initialized=False)
        tool = HierarchicalDocToolAdapter(document_config(), instance).to_sdk_tool()
        with pytest.raises(BackendSessionError, match=r"^Tool 'law' is not initialized$"):
            await tool.handler(QUERY)
        instance.search.assert_not_called()


class TestBuildHolodeckSdkServer:
    def test_the_server_is_a_config_of_the_sdk(self) -> None:
        config, allowed = build_holodeck_sdk_server(
            [VectorStoreToolAdapter(vector_config(), vector_instance())]
        )
        assert config["type"] == "sdk"
        assert config["name"] == "holodeck_tools"
        assert "instance" in config
        assert allowed == ["mcp__holodeck_tools__kb_search"]

    def test_without_adapters_there_is_a_server_without_tools(self) -> None:
        config, allowed = build_holodeck_sdk_server([])
        assert config["name"] == "holodeck_tools"
        assert allowed == []

    def test_adapters_of_both_kinds_share_one_server(self) -> None:
        adapters = [
            VectorStoreToolAdapter(vector_config("a"), vector_instance()),
            VectorStoreToolAdapter(vector_config("b"), vector_instance()),
            HierarchicalDocToolAdapter(document_config("c"), document_instance()),
        ]
        with patch("claude_agent_sdk.create_sdk_mcp_server") as create:
            _, allowed = build_holodeck_sdk_server(adapters)
        assert allowed == [f"mcp__holodeck_tools__{name}_search" for name in "abc"]
        create.assert_called_once()
        assert create.call_args.kwargs["name"] == "holodeck_tools"
        assert [t.name for t in create.call_args.kwargs["tools"]] == [
            "a_search", "b_search", "c_search",
        ]  # fmt: skip

    def test_two_tools_of_one_name_are_both_named(self) -> None:
        adapters = [VectorStoreToolAdapter(vector_config(), vector_instance()) for _ in range(2)]
        with pytest.raises(BackendInitError, match=r"both offer .* 'kb_search'; rename one"):
            build_holodeck_sdk_server(adapters)

    def test_an_adapter_that_cannot_render_itself_is_named(self) -> None:
        class Broken(VectorStoreToolAdapter):
            def to_sdk_tool(self) -> Any:
                raise ZeroDivisionError("boom")

        with pytest.raises(BackendInitError, match=r"tool 'kb' \(vectorstore\) could not.*boom"):
            build_holodeck_sdk_server([Broken(vector_config(), vector_instance())])


class TestCreateToolAdapters:
    def test_other_types_are_passed_over(self) -> None:
        configs = [
            FunctionTool(name="f", description="d", file="f.py", function="f"),
            MCPTool(name="m", description="d", command="x"),
            PromptTool(name="p", description="d", template="t"),
        ]
        assert create_tool_adapters(configs, {}) == []

    def test_configs_are_matched_to_instances_by_name(self) -> None:
        one, two = vector_instance(), document_instance()
        configs = [vector_config("one"), document_config("two")]
        adapters = create_tool_adapters(configs, {"two": two, "one": one})
        assert [type(a) for a in adapters] == [VectorStoreToolAdapter, HierarchicalDocToolAdapter]
        assert [a.instance for a in adapters] == [one, two]

    @pytest.mark.parametrize(
        ("config", "type_"),
        [(vector_config("kb"), "vectorstore"), (document_config("kb"), "hierarchical_document")],
    )
    def test_a_missing_instance_is_an_error_in_the_seeds_words(
        self, config: VectorstoreTool, type_: str
    ) -> None:
        with pytest.raises(BackendInitError) as error:
            create_tool_adapters([config], {})
        assert str(error.value) == (
            f"No initialized instance found for tool 'kb' (type: {type_}). "
            "Ensure tool initialization completed before creating adapters."
        )

    def test_objects_of_the_same_shape_from_elsewhere_are_adapted(self) -> None:
        @dataclass
        class Foreign:
            type: str = "vectorstore"
            name: str = "kb"
            description: str = "d"

        instance = vector_instance()
        [adapter] = create_tool_adapters([Foreign()], {"kb": instance})
        _, allowed = build_holodeck_sdk_server([adapter])
        assert allowed == ["mcp__holodeck_tools__kb_search"]

    def test_without_search_tools_there_are_no_adapters(self) -> None:
        assert create_tool_adapters([], {}) == []
