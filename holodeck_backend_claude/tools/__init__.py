"""Tools: the built-in tool types, and what every backend needs to call any tool.

Each name is imported when first asked for, so that listing plugins loads none of it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holodeck_backend_claude.tools.bound import BoundTool, RefusedArguments, bind
    from holodeck_backend_claude.tools.failures import error_text
    from holodeck_backend_claude.tools.names import legal_name, wire_names
    from holodeck_backend_claude.tools.opening import OpenTools
    from holodeck_backend_claude.tools.redaction import mask_secrets
    from holodeck_backend_claude.tools.schema import SchemaRefusedError, check_schema, model_schema
    from holodeck_backend_claude.tools.search import HierarchicalSearchAdapter, VectorSearchAdapter
    from holodeck_backend_claude.tools.threads import blocked_threads, in_thread

__all__ = [
    "BoundTool",
    "HierarchicalSearchAdapter",
    "OpenTools",
    "RefusedArguments",
    "SchemaRefusedError",
    "VectorSearchAdapter",
    "bind",
    "blocked_threads",
    "check_schema",
    "error_text",
    "in_thread",
    "legal_name",
    "mask_secrets",
    "model_schema",
    "wire_names",
]

_HOMES = {
    "bound": ("BoundTool", "RefusedArguments", "bind"),
    "failures": ("error_text",),
    "names": ("legal_name", "wire_names"),
    "opening": ("OpenTools",),
    "redaction": ("mask_secrets",),
    "schema": ("SchemaRefusedError", "check_schema", "model_schema"),
    "search": ("HierarchicalSearchAdapter", "VectorSearchAdapter"),
    "threads": ("blocked_threads", "in_thread"),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
