"""The Claude plugin: what it contributes, as import strings, and nothing else."""

from __future__ import annotations

from holodeck_backend_claude.hookspecs import AdapterOverride, BackendType, hookimpl

HOLODECK_API = 1
NAME = "claude"
SETTINGS_KEY = "claude"


@hookimpl
def holodeck_register_backend() -> BackendType:
    """The backend that runs an agent on the Claude Agent SDK."""
    return BackendType(
        name=NAME,
        providers=("anthropic",),
        factory="holodeck_backend_claude.claude.backend:ClaudeBackend",
        settings_key=SETTINGS_KEY,
        settings="holodeck_backend_claude.claude.settings:ClaudeSettings",
        sessions="holodeck_backend_claude.claude.transcripts.stored:stored_sessions",
    )


@hookimpl
def holodeck_adapt_tool() -> list[AdapterOverride]:
    """The search tools' adapters that also render themselves as SDK tools."""
    adapters = "holodeck_backend_claude.claude.adapters"
    return [
        AdapterOverride("vectorstore", NAME, f"{adapters}:VectorStoreToolAdapter"),
        AdapterOverride("hierarchical_document", NAME, f"{adapters}:HierarchicalDocToolAdapter"),
    ]
