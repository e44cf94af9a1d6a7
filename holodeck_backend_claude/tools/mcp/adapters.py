"""The adapters of one server: its tools, and its prompts and resources where they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mcp import types
from mcp.shared.exceptions import McpError
from pydantic import AnyUrl

from holodeck_backend_claude.calls.content import to_result
from holodeck_backend_claude.contract import (
    ContentBlock,
    JsonSchema,
    TextContent,
    ToolAnnotations,
    ToolCall,
    ToolResult,
)
from holodeck_backend_claude.tools.mcp.errors import BadAnswerError
from holodeck_backend_claude.tools.mcp.naming import Names
from holodeck_backend_claude.tools.mcp.server import McpServer

_READS = ToolAnnotations(read_only=True)


class McpAdapter:
    """What one server offers, as a tool of the agent.

    Attributes:
        mcp_server: The server's name in agent.yaml.
        name_in_server: Its legal name within the server.
        name: Both together: what results and reports call it.
    """

    annotations = ToolAnnotations()
    input_schema: JsonSchema
    description: str

    def __init__(self, server: McpServer, name_in_server: str) -> None:
        self.mcp_server = server.name
        self.name_in_server = name_in_server
        self.name = Names(server.name).own(name_in_server)
        self._server = server

    async def call(self, call: ToolCall) -> ToolResult:
        """Ask the server; an error it answers with is an error result that names it."""
        try:
            return await self._ask(call)
        except McpError as error:
            return self._error(f"answered with an error: {error}")
        except BadAnswerError as error:
            return self._error(f"failed: {error}")

    async def _ask(self, call: ToolCall) -> ToolResult:
        raise NotImplementedError

    def _error(self, problem: str) -> ToolResult:
        return ToolResult.from_text(f"The MCP server '{self.mcp_server}' {problem}", is_error=True)


class McpToolAdapter(McpAdapter):
    """A tool of the server."""

    def __init__(self, server: McpServer, name_in_server: str, tool: types.Tool) -> None:
        super().__init__(server, name_in_server)
        self._name = tool.name
        self.description = _described(
            tool.description, tool.title, f"The tool '{tool.name}' of '{server.name}'."
        )
        self.input_schema = tool.inputSchema
        self.annotations = _annotations(tool.annotations)

    async def _ask(self, call: ToolCall) -> ToolResult:
        params = types.CallToolRequestParams(name=self._name, arguments=dict(call.arguments))
        result = await self._server.request(
            types.CallToolRequest(params=params), types.CallToolResult, call.report_progress
        )
        return to_result(result)


class McpPromptAdapter(McpAdapter):
    """A prompt of the server, as a tool that returns the prompt's messages."""

    annotations = _READS

    def __init__(self, server: McpServer, name_in_server: str, prompt: types.Prompt) -> None:
        super().__init__(server, name_in_server)
        self._name = prompt.name
        says = _described(prompt.description, prompt.title, "")
        self.description = (
            f"Returns the messages of the prompt '{prompt.name}' of '{server.name}'. {says}".strip()
        )
        arguments = prompt.arguments or []
        self.input_schema = {
            "type": "object",
            "properties": {
                each.name: {"type": "string"}
                | ({"description": each.description} if each.description else {})
                for each in arguments
            },
            "required": [each.name for each in arguments if each.required],
            "additionalProperties": False,
        }

    async def _ask(self, call: ToolCall) -> ToolResult:
        params = types.GetPromptRequestParams(name=self._name, arguments=dict(call.arguments))
        prompt = await self._server.request(
            types.GetPromptRequest(params=params), types.GetPromptResult
        )
        return ToolResult(content=tuple(_messages(prompt.messages)))


class McpReadResourceAdapter(McpAdapter):
    """Reads one resource of the server."""

    annotations = _READS

    def __init__(self, server: McpServer, name_in_server: str) -> None:
        super().__init__(server, name_in_server)
        self.description = (
            f"Reads a resource of '{server.name}' by its URI, as the list of its resources, a "
            "template or the result of a tool has it."
        )
        self.input_schema = {
            "type": "object",
            "properties": {"uri": {"type": "string", "description": "The URI of the resource."}},
            "required": ["uri"],
            "additionalProperties": False,
        }

    async def _ask(self, call: ToolCall) -> ToolResult:
        try:
            uri = AnyUrl(str(call.arguments["uri"]))
        except ValueError:
            return ToolResult.from_text(f"{call.arguments['uri']!r} is no URI", is_error=True)
        params = types.ReadResourceRequestParams(uri=uri)
        read = await self._server.request(
            types.ReadResourceRequest(params=params), types.ReadResourceResult
        )
        return ToolResult(content=tuple(_contents(read.contents)))


def _messages(messages: Sequence[types.PromptMessage]) -> Iterator[ContentBlock]:
    for message in messages:
        yield TextContent(f"[{message.role}]")
        yield from to_result([_plain(message.content)]).content


def _contents(
    contents: Sequence[types.TextResourceContents | types.BlobResourceContents],
) -> Iterator[ContentBlock]:
    for part in contents:
        if isinstance(part, types.BlobResourceContents) and (part.mimeType or "").startswith(
            "image/"
        ):
            image = {"type": "image", "data": part.blob, "mimeType": part.mimeType}
            yield from to_result([image]).content
        else:
            yield from to_result([{"type": "resource", "resource": _plain(part)}]).content


def _plain(model: Any) -> dict[str, Any]:
    plain: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return plain


def _described(*texts: str | None) -> str:
    return next((text.strip() for text in texts if text and text.strip()), "")


def _annotations(hints: types.ToolAnnotations | None) -> ToolAnnotations:
    if hints is None:
        return ToolAnnotations()
    return ToolAnnotations(
        read_only=hints.readOnlyHint,
        destructive=hints.destructiveHint,
        idempotent=hints.idempotentHint,
        open_world=hints.openWorldHint,
    )
