"""What backends, tools and their consumers agree on: results, events, sessions, adapters, errors.

Nothing here knows a backend or a tool type, and nothing here imports one. The names and the
eight first fields of :class:`ExecutionResult` are those of the HoloDeck execution interface.
"""

from holodeck_backend_claude.contract.embeddings import (
    Embedder,
)
from holodeck_backend_claude.contract.errors import (
    BackendError,
    BackendInitError,
    BackendSessionError,
    BackendTimeoutError,
    ConfigError,
    HoloDeckError,
    PluginError,
    ToolServerError,
)
from holodeck_backend_claude.contract.events import (
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolEnd,
    ToolStart,
    TurnEnd,
    TurnEvent,
)
from holodeck_backend_claude.contract.input_files import (
    FileInput,
    InputFile,
)
from holodeck_backend_claude.contract.permissions import (
    AskPermission,
    PermissionRequest,
)
from holodeck_backend_claude.contract.reranking import Reranker
from holodeck_backend_claude.contract.results import (
    ExecutionResult,
)
from holodeck_backend_claude.contract.sessions import (
    AgentBackend,
    AgentSession,
)
from holodeck_backend_claude.contract.stored_sessions import (
    StoredSession,
    StoredSessions,
)
from holodeck_backend_claude.contract.tools import (
    DEFAULT_CALL_SECONDS,
    DEFAULT_CALLS_AT_ONCE,
    DEFAULT_RESULT_CHARS,
    AskModel,
    ContentBlock,
    ImageContent,
    JsonSchema,
    ResourceContent,
    ShowProgress,
    TextContent,
    ToolAdapter,
    ToolAnnotations,
    ToolCall,
    ToolResult,
)

__all__ = [
    "DEFAULT_CALLS_AT_ONCE",
    "DEFAULT_CALL_SECONDS",
    "DEFAULT_RESULT_CHARS",
    "AgentBackend",
    "AgentSession",
    "AskModel",
    "AskPermission",
    "BackendError",
    "BackendInitError",
    "BackendSessionError",
    "BackendTimeoutError",
    "ConfigError",
    "ContentBlock",
    "Embedder",
    "ExecutionResult",
    "FileInput",
    "HoloDeckError",
    "ImageContent",
    "InputFile",
    "JsonSchema",
    "PermissionRequest",
    "PluginError",
    "Reranker",
    "ResourceContent",
    "Retrying",
    "ShowProgress",
    "StoredSession",
    "StoredSessions",
    "TextContent",
    "TextDelta",
    "ThinkingDelta",
    "ToolAdapter",
    "ToolAnnotations",
    "ToolCall",
    "ToolEnd",
    "ToolResult",
    "ToolServerError",
    "ToolStart",
    "TurnEnd",
    "TurnEvent",
]
