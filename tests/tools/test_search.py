"""The search adapters over instances of the right shape."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from holodeck_backend_claude.calls import bind, check_schema
from holodeck_backend_claude.contract import BackendSessionError, ToolAdapter, ToolCall
from holodeck_backend_claude.tools.search import HierarchicalSearchAdapter, VectorSearchAdapter


@dataclass
class Store:
    found: Any = "[1] text"
    is_initialized: bool = True
    queries: list[str] = field(default_factory=list)

    async def search(self, query: str) -> Any:
        self.queries.append(query)
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


class Documents(Store):
    def __init__(self, found: Any, *, initialized: bool = True) -> None:
        super().__init__(found)
        del self.is_initialized
        self._initialized = initialized


@dataclass
class Passage:
    text: str

    def format(self) -> str:
        return f"Score: 0.9 | {self.text}"


def config(name: str = "kb", description: str = "The handbook.") -> Any:
    return SimpleNamespace(name=name, type="vectorstore", description=description)


ADAPTERS = [VectorSearchAdapter, HierarchicalSearchAdapter]


@pytest.mark.parametrize("adapter_class", ADAPTERS)
class TestBoth:
    def test_keeps_config_and_instance_as_attributes(self, adapter_class: Any) -> None:
        settings, store = config(), Store()
        adapter = adapter_class(settings, store)
        assert adapter.config is settings
        assert adapter.instance is store
        assert isinstance(adapter, ToolAdapter)

    def test_is_named_after_the_tool(self, adapter_class: Any) -> None:
        assert adapter_class(config("faq"), Store()).name == "faq_search"

    def test_description_is_cut_to_200_characters_with_dots(self, adapter_class: Any) -> None:
        head = len("Search kb: ")
        fits = adapter_class(config(description="x" * (200 - head)), Store()).description
        cut = adapter_class(config(description="x" * (201 - head)), Store()).description
        assert fits == "Search kb: " + "x" * (200 - head)
        assert cut == "Search kb: " + "x" * (197 - head) + "..."

    def test_schema_is_complete_and_takes_exactly_a_query(self, adapter_class: Any) -> None:
        schema = adapter_class(config(), Store()).input_schema
        assert check_schema(schema, tool="kb") == schema
        assert schema["required"] == ["query"]
        assert schema["additionalProperties"] is False
        assert schema["properties"]["query"]["description"]

    def test_is_annotated_as_reading_only(self, adapter_class: Any) -> None:
        annotations = adapter_class(config(), Store()).annotations
        assert annotations.read_only is True
        assert annotations.destructive is False
        assert annotations.idempotent is True
        assert annotations.open_world is False

    @pytest.mark.parametrize("nothing", ["", None, []])
    async def test_no_result_is_said_in_words(self, adapter_class: Any, nothing: Any) -> None:
        assert await adapter_class(config(), Store(nothing)).search_text("q") == "No results found."

    async def test_an_exception_of_the_search_propagates(self, adapter_class: Any) -> None:
        adapter = adapter_class(config(), Store(ConnectionError("gone")))
        with pytest.raises(ConnectionError, match="gone"):
            await adapter.call(ToolCall({"query": "q"}))

    async def test_an_uninitialized_tool_is_refused_without_a_search(
        self, adapter_class: Any
    ) -> None:
        store = Store(is_initialized=False)
        with pytest.raises(BackendSessionError, match=r"^Tool 'kb' is not initialized$"):
            await adapter_class(config(), store).search_text("q")
        assert store.queries == []

    async def test_bound_the_same_is_an_error_result(self, adapter_class: Any) -> None:
        tool = bind(adapter_class(config(), Store(is_initialized=False)))
        result = await tool.call({"query": "q"})
        assert result.is_error
        assert result.text == "BackendSessionError: Tool 'kb' is not initialized"


async def test_vector_text_is_passed_through() -> None:
    store = Store("Found 1 result(s):\n[1] Score: 0.89 | Source: a.md")
    result = await VectorSearchAdapter(config(), store).call(ToolCall({"query": "refund"}))
    assert result.text == store.found
    assert store.queries == ["refund"]


async def test_hierarchical_results_are_formatted_and_joined() -> None:
    adapter = HierarchicalSearchAdapter(config(), Documents([Passage("a"), Passage("b")]))
    assert await adapter.search_text("q") == "Score: 0.9 | a\n---\nScore: 0.9 | b"


async def test_hierarchical_guard_reads_the_private_flag_first() -> None:
    documents = Documents([Passage("a")], initialized=False)
    with pytest.raises(BackendSessionError):
        await HierarchicalSearchAdapter(config(), documents).search_text("q")
    assert documents.queries == []


async def test_each_adapter_searches_its_own_instance() -> None:
    tools = [VectorSearchAdapter(config(name), Store(name)) for name in ("one", "two")]
    assert [await tool.search_text("q") for tool in tools] == ["one", "two"]
