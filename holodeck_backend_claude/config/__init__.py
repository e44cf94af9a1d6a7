"""agent.yaml: its models, and the loader that turns a file into a validated Agent.

The front door: models for tool types and backends of plugins, ``load_agent`` for everyone else.
"""

from holodeck_backend_claude.config.database import DatabaseConfig
from holodeck_backend_claude.config.loader import (
    AgentFile,
    load_agent,
    read_agent,
    read_plugins_block,
)
from holodeck_backend_claude.config.mcp import MCPTool
from holodeck_backend_claude.config.models import (
    Agent,
    EmbeddingProviderConfig,
    ExecutionConfig,
    Instructions,
    ModelConfig,
    PluginsConfig,
)
from holodeck_backend_claude.config.observability import ObservabilityConfig
from holodeck_backend_claude.config.paths import ExistingPath
from holodeck_backend_claude.config.problems import AgentFileError, Problem
from holodeck_backend_claude.config.ranking_models import KeywordIndexConfig, RerankerConfig
from holodeck_backend_claude.config.tool_models import (
    FunctionTool,
    HierarchicalDocumentToolConfig,
    PromptTool,
    ToolConfig,
    VectorstoreTool,
)
from holodeck_backend_claude.config.tool_union import ToolUnion
from holodeck_backend_claude.config.yaml.source import Source, read_source

__all__ = [
    "Agent",
    "AgentFile",
    "AgentFileError",
    "DatabaseConfig",
    "EmbeddingProviderConfig",
    "ExecutionConfig",
    "ExistingPath",
    "FunctionTool",
    "HierarchicalDocumentToolConfig",
    "Instructions",
    "KeywordIndexConfig",
    "MCPTool",
    "ModelConfig",
    "ObservabilityConfig",
    "PluginsConfig",
    "Problem",
    "PromptTool",
    "RerankerConfig",
    "Source",
    "ToolConfig",
    "ToolUnion",
    "VectorstoreTool",
    "load_agent",
    "read_agent",
    "read_plugins_block",
    "read_source",
]
