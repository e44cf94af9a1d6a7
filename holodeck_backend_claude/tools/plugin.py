"""The default plugin of the built-in tool types; it names them and loads none."""

from __future__ import annotations

from collections.abc import Sequence

from holodeck_backend_claude.hookspecs import RerankerType, ToolType, hookimpl

HOLODECK_API = 1

_HERE = "holodeck_backend_claude.tools"


@hookimpl
def holodeck_adapt_tool() -> Sequence[ToolType]:
    """The tool types that every backend has."""
    return (
        ToolType(
            type="vectorstore",
            config="holodeck_backend_claude.config:VectorstoreTool",
            adapter=f"{_HERE}.search:VectorSearchAdapter",
            open=f"{_HERE}.vectorstore:open_vectorstore",
            keeps_index=True,
        ),
        ToolType(
            type="hierarchical_document",
            config="holodeck_backend_claude.config:HierarchicalDocumentToolConfig",
            adapter=f"{_HERE}.search:HierarchicalSearchAdapter",
            open=f"{_HERE}.hierarchical:open_hierarchical",
            keeps_index=True,
        ),
        ToolType(
            type="mcp",
            config="holodeck_backend_claude.config:MCPTool",
            adapter=f"{_HERE}.mcp.opening:adapters",
            open=f"{_HERE}.mcp.opening:open_mcp",
            instructions=f"{_HERE}.mcp.opening:instructions",
        ),
    )


@hookimpl
def holodeck_register_reranker() -> RerankerType:
    """A cross-encoder in a folder."""
    return RerankerType(
        provider="local",
        open="holodeck_backend_claude.retrieval.ranking.cross_encoder:open_cross_encoder",
    )
