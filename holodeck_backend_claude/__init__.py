"""Run a HoloDeck agent.yaml on the Claude Agent SDK or on Semantic Kernel.

The public names, and nothing else. Each is imported when first asked for, so that importing this
package loads neither the Claude Agent SDK nor Semantic Kernel.
"""

from __future__ import annotations

import importlib
from typing import Any

_PUBLIC = {
    "contract": (
        "AgentBackend", "AgentSession", "BackendError", "BackendInitError", "BackendSessionError",
        "BackendTimeoutError", "ConfigError", "ExecutionResult", "HoloDeckError", "PluginError",
        "ToolAdapter", "ToolAnnotations", "ToolCall", "ToolResult",
    ),
    "hookspecs": ("AdapterOverride", "BackendType", "ToolContext", "ToolType", "hookimpl"),
}  # fmt: skip

_MODULES = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = sorted(_MODULES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
