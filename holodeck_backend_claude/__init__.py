"""Run a HoloDeck agent.yaml on the Claude Agent SDK or on Semantic Kernel.

The public names, and nothing else. Each is imported when first asked for, so that importing this
package loads neither the Claude Agent SDK nor Semantic Kernel.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers and editors, the same names as in the table below
    from holodeck_backend_claude.claude.adapters import (
        HierarchicalDocToolAdapter,
        VectorStoreToolAdapter,
        create_tool_adapters,
    )
    from holodeck_backend_claude.claude.backend import ClaudeBackend
    from holodeck_backend_claude.claude.native_mcp import build_claude_mcp_configs
    from holodeck_backend_claude.claude.options import build_options
    from holodeck_backend_claude.claude.server import build_holodeck_sdk_server
    from holodeck_backend_claude.claude.session import ClaudeSession
    from holodeck_backend_claude.claude.telemetry import translate_observability
    from holodeck_backend_claude.contract import (
        AgentBackend,
        AgentSession,
        AskPermission,
        BackendError,
        BackendInitError,
        BackendSessionError,
        BackendTimeoutError,
        ConfigError,
        ExecutionResult,
        HoloDeckError,
        ImageContent,
        InputFile,
        PermissionRequest,
        PluginError,
        ResourceContent,
        Retrying,
        StoredSession,
        StoredSessions,
        TextContent,
        TextDelta,
        ThinkingDelta,
        ToolAdapter,
        ToolAnnotations,
        ToolCall,
        ToolEnd,
        ToolResult,
        ToolStart,
        TurnEnd,
        TurnEvent,
    )
    from holodeck_backend_claude.hookspecs import (
        AdapterOverride,
        BackendType,
        ToolContext,
        ToolType,
        hookimpl,
    )
    from holodeck_backend_claude.input_files import InputFileError
    from holodeck_backend_claude.opening import open_agent
    from holodeck_backend_claude.plugins import load_plugins
    from holodeck_backend_claude.retrieval.results import SearchResult
    from holodeck_backend_claude.selector import BackendSelector
    from holodeck_backend_claude.sessions import StreamedSession
    from holodeck_backend_claude.sk.backend import SKBackend
    from holodeck_backend_claude.sk.session import SKSession
    from holodeck_backend_claude.tools.hierarchical import HierarchicalDocumentTool
    from holodeck_backend_claude.tools.vectorstore import VectorStoreTool

_NAMES = {
    "claude.adapters": (
        "HierarchicalDocToolAdapter",
        "VectorStoreToolAdapter",
        "create_tool_adapters",
    ),
    "claude.backend": ("ClaudeBackend",),
    "claude.native_mcp": ("build_claude_mcp_configs",),
    "claude.options": ("build_options",),
    "claude.server": ("build_holodeck_sdk_server",),
    "claude.session": ("ClaudeSession",),
    "claude.telemetry": ("translate_observability",),
    "contract": (
        "AgentBackend",
        "AgentSession",
        "AskPermission",
        "BackendError",
        "BackendInitError",
        "BackendSessionError",
        "BackendTimeoutError",
        "ConfigError",
        "ExecutionResult",
        "HoloDeckError",
        "ImageContent",
        "InputFile",
        "PermissionRequest",
        "PluginError",
        "ResourceContent",
        "Retrying",
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
        "ToolStart",
        "TurnEnd",
        "TurnEvent",
    ),
    "hookspecs": ("AdapterOverride", "BackendType", "ToolContext", "ToolType", "hookimpl"),
    "input_files": ("InputFileError",),
    "opening": ("open_agent",),
    "plugins": ("load_plugins",),
    "retrieval.results": ("SearchResult",),
    "selector": ("BackendSelector",),
    "sessions": ("StreamedSession",),
    "sk.backend": ("SKBackend",),
    "sk.session": ("SKSession",),
    "tools.hierarchical": ("HierarchicalDocumentTool",),
    "tools.vectorstore": ("VectorStoreTool",),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "AdapterOverride",
    "AgentBackend",
    "AgentSession",
    "AskPermission",
    "BackendError",
    "BackendInitError",
    "BackendSelector",
    "BackendSessionError",
    "BackendTimeoutError",
    "BackendType",
    "ClaudeBackend",
    "ClaudeSession",
    "ConfigError",
    "ExecutionResult",
    "HierarchicalDocToolAdapter",
    "HierarchicalDocumentTool",
    "HoloDeckError",
    "ImageContent",
    "InputFile",
    "InputFileError",
    "PermissionRequest",
    "PluginError",
    "ResourceContent",
    "Retrying",
    "SKBackend",
    "SKSession",
    "SearchResult",
    "StoredSession",
    "StoredSessions",
    "StreamedSession",
    "TextContent",
    "TextDelta",
    "ThinkingDelta",
    "ToolAdapter",
    "ToolAnnotations",
    "ToolCall",
    "ToolContext",
    "ToolEnd",
    "ToolResult",
    "ToolStart",
    "ToolType",
    "TurnEnd",
    "TurnEvent",
    "VectorStoreTool",
    "VectorStoreToolAdapter",
    "build_claude_mcp_configs",
    "build_holodeck_sdk_server",
    "build_options",
    "create_tool_adapters",
    "hookimpl",
    "load_plugins",
    "open_agent",
    "translate_observability",
]

if not TYPE_CHECKING:  # a type checker that saw this would take every misspelt name for good

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
