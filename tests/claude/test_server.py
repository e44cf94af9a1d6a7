"""The real in-process MCP server, asked in the way Claude Code's client asks it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest
from mcp.server import Server
from mcp.types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ListToolsRequest,
    ListToolsResult,
    Tool,
)

from holodeck_backend_claude import (
    HierarchicalDocToolAdapter,
    SearchResult,
    VectorStoreToolAdapter,
    build_holodeck_sdk_server,
)
from holodeck_backend_claude.calls import BoundTool
from holodeck_backend_claude.claude.server import build_server
from holodeck_backend_claude.config import HierarchicalDocumentToolConfig, VectorstoreTool
from holodeck_backend_claude.contract import (
    ImageContent,
    ResourceContent,
    TextContent,
    ToolCall,
    ToolResult,
)

MakeTool = Callable[..., BoundTool]


def server_of(config: Mapping[str, Any]) -> Server[Any, Any]:
    server = config["instance"]
    assert isinstance(server, Server)
    return server


async def listed(config: Mapping[str, Any]) -> dict[str, Tool]:
    answer = await server_of(config).request_handlers[ListToolsRequest](ListToolsRequest())
    assert isinstance(answer.root, ListToolsResult)
    return {tool.name: tool for tool in answer.root.tools}


async def called(
    config: Mapping[str, Any], name: str, arguments: Any, *, call_id: str | None = None
) -> CallToolResult:
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    if call_id is not None:
        params["_meta"] = {"claudecode/toolUseId": call_id}
    request = CallToolRequest(params=CallToolRequestParams.model_validate(params))
    answer = await server_of(config).request_handlers[CallToolRequest](request)
    assert isinstance(answer.root, CallToolResult)
    return answer.root


def texts(result: CallToolResult) -> list[str]:
    return [block.text for block in result.content if block.type == "text"]


def vectorstore(name: str, found: Any) -> VectorStoreToolAdapter:
    search = AsyncMock(side_effect=found) if isinstance(found, Exception) else None
    instance = MagicMock(is_initialized=True, search=search or AsyncMock(return_value=found))
    config = VectorstoreTool(name=name, description=f"The {name}", source="docs")
    return VectorStoreToolAdapter(config, instance)


class TestSearchTools:
    async def test_adapters_of_both_kinds_share_one_server(self) -> None:
        found = SearchResult("c1", "Article one.", 0.5, "law.md", [], "")
        law = HierarchicalDocumentToolConfig(name="law", description="The law", source="law")
        documents = MagicMock(_initialized=True, search=AsyncMock(return_value=[found]))
        config, allowed = build_holodeck_sdk_server(
            [
                vectorstore("a", "from a"),
                vectorstore("b", "from b"),
                HierarchicalDocToolAdapter(law, documents),
            ]
        )
        tools = await listed(config)
        assert list(tools) == ["a_search", "b_search", "law_search"]
        assert allowed == [f"mcp__holodeck_tools__{name}" for name in tools]
        assert texts(await called(config, "a_search", {"query": "x"})) == ["from a"]
        assert texts(await called(config, "b_search", {"query": "x"})) == ["from b"]
        assert texts(await called(config, "law_search", {"query": "x"})) == [found.format()]

    async def test_a_tool_is_listed_with_a_complete_schema_and_as_read_only(self) -> None:
        config, _ = build_holodeck_sdk_server([vectorstore("kb", "found")])
        tool = (await listed(config))["kb_search"]
        assert tool.description == "Search kb: The kb"
        assert tool.inputSchema["type"] == "object"
        assert tool.inputSchema["properties"]["query"]["type"] == "string"
        assert tool.inputSchema["required"] == ["query"]
        assert tool.inputSchema["additionalProperties"] is False
        assert tool.annotations is not None
        assert tool.annotations.readOnlyHint is True
        assert tool.annotations.destructiveHint is False

    async def test_without_adapters_nothing_is_listed(self) -> None:
        config, allowed = build_holodeck_sdk_server([])
        assert allowed == []
        handlers = server_of(config).request_handlers
        assert ListToolsRequest not in handlers or await listed(config) == {}

    async def test_a_failing_search_is_an_error_result_and_the_server_lives_on(self) -> None:
        adapter = vectorstore("kb", TimeoutError())
        config, _ = build_holodeck_sdk_server([adapter])
        result = await called(config, "kb_search", {"query": "x"})
        assert result.isError
        assert texts(result) == ["TimeoutError: no message"]
        adapter.instance.search = AsyncMock(return_value="found")
        again = await called(config, "kb_search", {"query": "x"})
        assert (again.isError, texts(again)) == (False, ["found"])

    async def test_a_call_without_a_query_is_refused_and_not_searched(self) -> None:
        adapter = vectorstore("kb", "found")
        config, _ = build_holodeck_sdk_server([adapter])
        result = await called(config, "kb_search", {})
        assert result.isError
        assert "query" in texts(result)[0]
        adapter.instance.search.assert_not_called()


class TestCalls:
    async def test_arguments_are_coerced_before_the_sdk_checks_them(
        self, make_tool: MakeTool
    ) -> None:
        seen: list[Any] = []

        def call(call: ToolCall) -> str:
            seen.append(dict(call.arguments))
            return "ok"

        schema = {
            "type": "object",
            "properties": {
                "count": {"type": "integer"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "text": {"type": "string"},
            },
            "required": ["count"],
        }
        config = build_server({"probe": make_tool(call, schema=schema)})
        sent = {"count": "5", "tags": '["a"]', "text": "7"}
        assert not (await called(config, "probe", sent)).isError
        assert seen == [{"count": 5, "tags": ["a"], "text": "7"}]
        assert sent == {"count": "5", "tags": '["a"]', "text": "7"}

    async def test_a_call_without_arguments_has_none(self, make_tool: MakeTool) -> None:
        config = build_server({"probe": make_tool(lambda call: f"got {dict(call.arguments)}")})
        assert texts(await called(config, "probe", None)) == ["got {}"]

    async def test_each_call_knows_its_id_and_one_without_knows_none(
        self, make_tool: MakeTool
    ) -> None:
        config = build_server({"probe": make_tool(lambda call: f"id {call.call_id}")})
        assert texts(await called(config, "probe", {}, call_id="toolu_1")) == ["id toolu_1"]
        assert texts(await called(config, "probe", {}, call_id="toolu_2")) == ["id toolu_2"]
        assert texts(await called(config, "probe", {})) == ["id None"]

    async def test_whoever_runs_the_calls_gets_tool_arguments_and_id(
        self, make_tool: MakeTool
    ) -> None:
        ran: list[Any] = []

        async def run(
            tool: BoundTool, arguments: Mapping[str, Any], call_id: str | None
        ) -> ToolResult:
            ran.append((tool.name, dict(arguments), call_id))
            return ToolResult.from_text("from outside", is_error=True)

        config = build_server({"wire": make_tool(lambda _call: "never", name="my own")}, run=run)
        result = await called(config, "wire", {"a": 1}, call_id="toolu_1")
        assert (result.isError, texts(result)) == (True, ["from outside"])
        assert ran == [("my own", {"a": 1}, "toolu_1")]

    async def test_an_unknown_tool_is_an_error_result(self, make_tool: MakeTool) -> None:
        config = build_server({"probe": make_tool(lambda _call: "never")})
        result = await called(config, "prob", {})
        assert result.isError
        assert "prob" in texts(result)[0]

    async def test_text_images_and_resources_arrive_as_such(self, make_tool: MakeTool) -> None:
        given = ToolResult(
            (
                TextContent("words"),
                ImageContent(b"\x89PNG", "image/png"),
                ResourceContent("file:///a.md", "# A", "text/markdown"),
            )
        )
        config = build_server({"probe": make_tool(lambda _call: given)})
        result = await called(config, "probe", {})
        shown = [block.model_dump(exclude_none=True) for block in result.content]
        assert shown[0] == {"type": "text", "text": "words"}
        assert shown[1] == {"type": "image", "data": "iVBORw==", "mimeType": "image/png"}
        assert "# A" in str(shown[2])

    @pytest.mark.parametrize("raised", [SystemExit(1), KeyboardInterrupt()])
    async def test_what_would_end_the_loop_ends_one_call(
        self, make_tool: MakeTool, raised: BaseException
    ) -> None:
        def fail(_call: ToolCall) -> ToolResult:
            raise raised

        config = build_server({"bad": make_tool(fail), "good": make_tool(lambda _call: "fine")})
        assert (await called(config, "bad", {})).isError
        assert texts(await called(config, "good", {})) == ["fine"]

    async def test_claude_code_is_told_to_keep_long_results_inline(
        self, make_tool: MakeTool
    ) -> None:
        config = build_server({"probe": make_tool(lambda _call: "ok", max_result_chars=1_000)})
        assert (await listed(config))["probe"].meta == {"anthropic/maxResultSizeChars": 12_000}
