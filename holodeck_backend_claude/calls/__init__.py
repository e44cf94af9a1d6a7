"""Any tool adapter under the one call policy, with a checked schema and a legal name."""

from __future__ import annotations

from holodeck_backend_claude.calls.bound import BoundTool, RefusedArguments, bind, failed_server
from holodeck_backend_claude.calls.names import legal_name, wire_names
from holodeck_backend_claude.calls.schema import SchemaRefusedError, check_schema, model_schema

__all__ = [
    "BoundTool",
    "RefusedArguments",
    "SchemaRefusedError",
    "bind",
    "check_schema",
    "failed_server",
    "legal_name",
    "model_schema",
    "wire_names",
]
