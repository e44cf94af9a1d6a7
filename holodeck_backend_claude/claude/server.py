"""Tools as an in-process MCP server: the one way every tool reaches Claude Code."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from holodeck_backend_claude.calls import BoundTool, bind, wire_names
from holodeck_backend_claude.contract import (
    BackendInitError,
    ContentBlock,
    ImageContent,
    ResourceContent,
    TextContent,
    ToolAdapter,
    ToolAnnotations,
    ToolResult,
)
from holodeck_backend_claude.failures import cause_text

if TYPE_CHECKING:
    from claude_agent_sdk import McpSdkServerConfig, SdkMcpTool
    from mcp.types import CallToolRequest, ServerResult
    from mcp.types import ContentBlock as WireContent
    from mcp.types import ToolAnnotations as WireAnnotations

SERVER_NAME = "holodeck_tools"
PREFIX = f"mcp__{SERVER_NAME}__"

Run: TypeAlias = Callable[[BoundTool, Mapping[str, Any], str | None], Awaitable[ToolResult]]
"""``run(tool, arguments, call_id)``: how a server runs a call."""


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
        result = await run(tool, arguments, None)
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
        annotations=_wire_annotations(
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


def _wire_annotations(hints: ToolAnnotations, *, max_result_chars: int) -> WireAnnotations:
    """MCP annotations with the size up to which Claude Code keeps a result inline.

    The SDK reads ``maxResultSizeChars`` off the annotations object and sends it in the tool's
    ``_meta``; mcp's own class keeps it as an extra field.
    """
    from mcp.types import ToolAnnotations as WireAnnotations

    return WireAnnotations.model_validate(
        {
            "readOnlyHint": hints.read_only,
            "destructiveHint": hints.destructive,
            "idempotentHint": hints.idempotent,
            "openWorldHint": hints.open_world,
            "maxResultSizeChars": max_result_chars,
        }
    )


def build_server(
    tools: Mapping[str, BoundTool], *, name: str = SERVER_NAME, run: Run = _run
) -> McpSdkServerConfig:
    """Build an in-process server for one client over shared tools.

    Args:
        tools: The tools by their names on the wire, without the prefix.
        name: The server's name.
        run: Runs every call.

    Raises:
        BackendInitError: An adapter that renders itself failed to; its tool is named.
    """
    import claude_agent_sdk

    sdk_tools = [_rendered(tool, name=wire, run=run) for wire, tool in tools.items()]
    config = claude_agent_sdk.create_sdk_mcp_server(name=name, tools=sdk_tools)
    _answer_calls(config, tools, run)
    return config


def build_servers(
    tools: Mapping[str, BoundTool], *, run: Run | None = None
) -> dict[str, McpSdkServerConfig]:
    """The servers of one client over shared tools, by name.

    Args:
        tools: The tools by their full names (``server_names.full_names``).
        run: Runs every call; None calls the tool.

    Raises:
        BackendInitError: An adapter that renders itself failed to; its tool is named.
    """
    servers: dict[str, dict[str, BoundTool]] = {}
    for full_name, tool in tools.items():
        _mcp, server, name = full_name.split("__", 2)
        servers.setdefault(server, {})[name] = tool
    runs = {} if run is None else {"run": run}
    return {name: build_server(its, name=name, **runs) for name, its in servers.items()}


def _rendered(tool: BoundTool, *, name: str, run: Run) -> SdkMcpTool[Any]:
    try:
        return to_sdk_tool(tool, name=name, run=run)
    except Exception as error:
        raise BackendInitError(
            f"{tool.origin} could not be offered to Claude Code: {cause_text(error)}"
        ) from error


def _answer_calls(config: McpSdkServerConfig, tools: Mapping[str, BoundTool], run: Run) -> None:
    """Let each call go straight to its tool, which makes the arguments fit and checks them.

    The handler that the SDK sets up would refuse ``"5"`` for an integer before the tool sees it,
    drop the call's id, and check without a limit of time.
    """
    from mcp.server import Server
    from mcp.types import CallToolRequest, CallToolResult, ServerResult

    server = config.get("instance")
    if not isinstance(server, Server) or CallToolRequest not in server.request_handlers:
        return
    refuse = server.request_handlers[CallToolRequest]

    async def answer(request: CallToolRequest) -> ServerResult:
        tool = tools.get(request.params.name)
        if tool is None:
            return await refuse(request)
        result = await run(tool, request.params.arguments or {}, _call_id_of(request))
        content = [_content(block) for block in result.content]
        return ServerResult(CallToolResult(content=content, isError=result.is_error))

    server.request_handlers[CallToolRequest] = answer


def _content(block: ContentBlock) -> WireContent:
    """A block as Claude Code takes it: it knows no resources, so that one comes as its text."""
    from mcp import types

    match block:
        case TextContent(text=text) | ResourceContent(text=text):
            return types.TextContent(type="text", text=text)
        case ImageContent(data=data, mime_type=mime_type):
            encoded = base64.b64encode(data).decode("ascii")
            return types.ImageContent(type="image", data=encoded, mimeType=mime_type)


def _call_id_of(request: CallToolRequest) -> str | None:
    """The model's id of the call; Claude Code sends it, and SDK 0.2.82 drops it on the way."""
    meta = request.params.meta
    value = (meta.model_extra or {}).get("claudecode/toolUseId") if meta else None
    return value if isinstance(value, str) else None


def build_holodeck_sdk_server(adapters: Sequence[Any]) -> tuple[McpSdkServerConfig, list[str]]:
    """The server ``holodeck_tools`` over adapters, and the names to put on ``allowed_tools``.

    Args:
        adapters: Search adapters from :func:`create_tool_adapters`, or any tool adapters.

    Raises:
        BackendInitError: Two tools have one name on the wire.
    """
    bound = [bind(adapter, getattr(adapter, "config", None)) for adapter in adapters]
    tools = wire_names(bound, PREFIX)
    return build_server(tools), [PREFIX + name for name in tools]
