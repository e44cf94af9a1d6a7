"""Tools as an in-process MCP server: the one way every tool reaches Claude Code."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias

from holodeck_backend_claude.calls import BoundTool, bind, coerce, wire_names
from holodeck_backend_claude.claude._compat import call_id_of, wire_annotations
from holodeck_backend_claude.contract import (
    ContentBlock,
    ImageContent,
    ResourceContent,
    TextContent,
    ToolAdapter,
    ToolResult,
)

if TYPE_CHECKING:
    from claude_agent_sdk import McpSdkServerConfig, SdkMcpTool

SERVER_NAME = "holodeck_tools"

Run: TypeAlias = Callable[[BoundTool, Mapping[str, Any], str | None], Awaitable[ToolResult]]
"""``run(tool, arguments, call_id)``: how a server runs a call."""

# Which call a handler answers; the SDK hands a handler its arguments only.
_CALL_ID: ContextVar[str | None] = ContextVar("holodeck_call_id", default=None)


async def _run(tool: BoundTool, arguments: Mapping[str, Any], call_id: str | None) -> ToolResult:
    return await tool.call(arguments, call_id=call_id)


def to_sdk_tool(
    adapter: ToolAdapter | BoundTool, *, name: str | None = None, run: Run = _run
) -> SdkMcpTool[Any]:
    """Render any adapter as an ``SdkMcpTool`` with the complete schema and the call policy.

    Args:
        adapter: A tool adapter, or one that has its limits already.
        name: The name on the wire; None takes the adapter's.
        run: Runs the call.
    """
    import claude_agent_sdk

    tool = adapter if isinstance(adapter, BoundTool) else bind(adapter)

    async def handler(arguments: dict[str, Any]) -> dict[str, Any]:
        result = await run(tool, arguments, _CALL_ID.get())
        content = [_wire_block(block) for block in result.content]
        return {"content": content, "is_error": result.is_error}

    own = getattr(tool.adapter, "to_sdk_tool", None)
    rendered: SdkMcpTool[Any] = (
        own() if own else claude_agent_sdk.tool(tool.name, tool.description, tool.schema)(handler)
    )
    return dataclasses.replace(
        rendered,
        name=name or rendered.name,
        input_schema=tool.schema,
        handler=handler,
        annotations=wire_annotations(
            tool.annotations, max_result_chars=2 * tool.policy.max_result_chars + 10_000
        ),
    )


def _wire_block(block: ContentBlock) -> dict[str, Any]:
    match block:
        case TextContent(text=text):
            return {"type": "text", "text": text}
        case ImageContent(data=data, mime_type=mime_type):
            encoded = base64.b64encode(data).decode("ascii")
            return {"type": "image", "data": encoded, "mimeType": mime_type}
        case ResourceContent(uri=uri, text=text, mime_type=mime_type):
            resource = {"uri": uri, "text": text, "mimeType": mime_type}
            return {"type": "resource", "resource": resource}


def build_server(
    tools: Sequence[BoundTool], *, name: str = SERVER_NAME, run: Run = _run
) -> tuple[McpSdkServerConfig, dict[str, BoundTool]]:
    """Build a server for one client over shared tools.

    Args:
        tools: The tools; their names are made legal and short enough for the wire.
        name: The server's name.
        run: Runs every call.

    Returns:
        The server, and its tools by their full wire name ``mcp__<server>__<tool>``.

    Raises:
        PluginError: Two tools have one name on the wire.
    """
    import claude_agent_sdk

    prefix = f"mcp__{name}__"
    by_name = wire_names(tools, prefix)
    sdk_tools = [to_sdk_tool(tool, name=wire, run=run) for wire, tool in by_name.items()]
    config = claude_agent_sdk.create_sdk_mcp_server(name=name, tools=sdk_tools)
    _prepare_calls(config, by_name)
    return config, {prefix + wire: tool for wire, tool in by_name.items()}


def _prepare_calls(config: McpSdkServerConfig, tools: Mapping[str, BoundTool]) -> None:
    """Make arguments fit before the SDK validates them, and note which call is answered."""
    from mcp.server import Server
    from mcp.types import CallToolRequest

    server = config.get("instance")
    if not isinstance(server, Server) or CallToolRequest not in server.request_handlers:
        return
    answer = server.request_handlers[CallToolRequest]

    async def prepared(request: CallToolRequest) -> Any:
        tool = tools.get(request.params.name)
        if tool is not None:
            request.params.arguments = coerce(request.params.arguments or {}, tool.schema)
        _CALL_ID.set(call_id_of(request))
        return await answer(request)

    server.request_handlers[CallToolRequest] = prepared


def build_holodeck_sdk_server(adapters: Sequence[Any]) -> tuple[McpSdkServerConfig, list[str]]:
    """The server ``holodeck_tools`` over adapters, and the names to put on ``allowed_tools``.

    Args:
        adapters: Search adapters from :func:`create_tool_adapters`, or any tool adapters.
    """
    tools = [bind(adapter, getattr(adapter, "config", None)) for adapter in adapters]
    config, by_name = build_server(tools)
    return config, list(by_name)
