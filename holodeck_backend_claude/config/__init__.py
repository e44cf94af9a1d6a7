"""agent.yaml: its models, and the loader that turns a file into a validated Agent."""

from holodeck_backend_claude.config.models import (
    Agent,
    EmbeddingProviderConfig,
    ExecutionConfig,
    FunctionTool,
    HierarchicalDocumentToolConfig,
    Instructions,
    MCPTool,
    ModelConfig,
    PluginsConfig,
    PromptTool,
    ToolConfig,
    ToolUnion,
    VectorstoreTool,
)

__all__ = [
    "Agent",
    "EmbeddingProviderConfig",
    "ExecutionConfig",
    "FunctionTool",
    "HierarchicalDocumentToolConfig",
    "Instructions",
    "MCPTool",
    "ModelConfig",
    "PluginsConfig",
    "PromptTool",
    "ToolConfig",
    "ToolUnion",
    "VectorstoreTool",
]
