"""The list of a server's resources, as a tool of the agent."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from mcp import types

from holodeck_backend_claude.contract import ToolAnnotations, ToolCall, ToolResult
from holodeck_backend_claude.tools.mcp.adapters import McpAdapter
from holodeck_backend_claude.tools.mcp.listing import list_resources
from holodeck_backend_claude.tools.mcp.server import McpServer


class McpListResourcesAdapter(McpAdapter):
    """Lists the resources of the server and its templates for URIs of further ones."""

    annotations = ToolAnnotations(read_only=True)

    def __init__(self, server: McpServer, name_in_server: str, log: logging.Logger) -> None:
        super().__init__(server, name_in_server)
        self._log = log
        self.description = f"Lists the resources that '{server.name}' has, by URI."
        self.input_schema = {"type": "object", "properties": {}, "additionalProperties": False}

    async def _ask(self, call: ToolCall) -> ToolResult:
        del call  # it has no arguments
        resources, templates = await list_resources(self._server, self._log)
        lines = [*_lines(resources), *_template_lines(templates)]
        return ToolResult.from_text("\n".join(lines) or "There are no resources.")


def _lines(resources: list[types.Resource]) -> Iterator[str]:
    for resource in resources:
        yield _line(str(resource.uri), resource)


def _template_lines(templates: list[types.ResourceTemplate]) -> Iterator[str]:
    for template in templates:
        yield _line(f"{template.uriTemplate} (fill in what is in braces)", template)


def _line(uri: str, it: types.Resource | types.ResourceTemplate) -> str:
    kind = f" ({it.mimeType})" if it.mimeType else ""
    about = f": {it.description}" if it.description else ""
    return f"{uri} - {it.title or it.name}{kind}{about}"
