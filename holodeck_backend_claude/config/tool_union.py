"""The union of HoloDeck's own tool types."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field

from holodeck_backend_claude.config.mcp import MCPTool
from holodeck_backend_claude.config.tool_models import (
    FunctionTool,
    HierarchicalDocumentToolConfig,
    PromptTool,
    VectorstoreTool,
)

ToolUnion: TypeAlias = Annotated[
    VectorstoreTool | HierarchicalDocumentToolConfig | FunctionTool | MCPTool | PromptTool,
    Field(discriminator="type"),
]
"""A tool of HoloDeck's own types, told apart by ``type``. Types of plugins are no part of it:
what holds for every tool is in :class:`ToolConfig`."""
