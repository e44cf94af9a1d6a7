"""Which server a tool is in, and what Claude Code calls it."""

from __future__ import annotations

from typing import Any

import pytest

from holodeck_backend_claude.calls import BoundTool, bind
from holodeck_backend_claude.claude.server import build_servers
from holodeck_backend_claude.claude.server_names import full_names, server_name
from holodeck_backend_claude.contract import BackendInitError, ToolAnnotations, ToolCall, ToolResult


class OfServer:
    """An adapter of the tool of an MCP server."""

    def __init__(self, server: str, name: str) -> None:
        self.mcp_server = server
        self.name_in_server = name
        self.name = f"{server}_{name}"
        self.description = "A tool."
        self.input_schema: dict[str, Any] = {"type": "object", "properties": {}}
        self.annotations = ToolAnnotations()

    async def call(self, _call: ToolCall) -> ToolResult:
        return ToolResult.from_text("ok")


class Own(OfServer):
    """An adapter of a tool of ours."""

    def __init__(self, name: str) -> None:
        super().__init__("", name)
        self.name = name


def tools(*adapters: OfServer) -> list[BoundTool]:
    return [bind(adapter, origin=f"tool '{adapter.mcp_server}' (mcp)") for adapter in adapters]


def test_a_tool_of_an_mcp_server_is_in_a_server_of_that_name_and_in_its_place() -> None:
    bound = tools(OfServer("files", "read"), Own("kb_search"), OfServer("files", "write"))
    named = full_names(bound)
    assert list(named) == [
        "mcp__files__read", "mcp__holodeck_tools__kb_search", "mcp__files__write",
    ]  # fmt: skip
    assert [tool.name for tool in named.values()] == ["files_read", "kb_search", "files_write"]
    servers = build_servers(named)
    assert {name: config["name"] for name, config in servers.items()} == {
        "files": "files", "holodeck_tools": "holodeck_tools",
    }  # fmt: skip


def test_names_are_legal_and_at_most_64_characters_whole() -> None:
    (name,) = full_names(tools(OfServer("my server " * 9, "tool.name " * 9)))
    assert len(name) <= 64
    assert name.startswith("mcp__my_server_")
    assert name.count("__") == 2
    (name,) = full_names(tools(Own("x" * 80)))
    assert len(name) == 64


@pytest.mark.parametrize("name", ["a__b", "a_b", "_a_b_", "a b"])
def test_the_name_of_a_server_does_not_end_where_it_should_not(name: str) -> None:
    assert server_name(name) == "a_b"


@pytest.mark.parametrize("name", ["holodeck_tools", "holodeck tools", "holodeck__tools"])
def test_a_server_with_the_name_of_ours_is_an_error(name: str) -> None:
    with pytest.raises(BackendInitError, match=rf"'{name}' and the server of all other tools"):
        full_names(tools(OfServer(name, "read")))


def test_two_servers_of_one_name_on_the_wire_are_both_named() -> None:
    with pytest.raises(BackendInitError, match="'my server' and the server 'my_server'"):
        full_names(tools(OfServer("my_server", "read"), OfServer("my server", "write")))


def test_two_tools_with_one_name_of_their_own_are_an_error_also_in_two_servers() -> None:
    with pytest.raises(BackendInitError, match="both offer the model a tool called 'a_b_c'"):
        full_names(tools(OfServer("a", "b_c"), OfServer("a_b", "c")))
