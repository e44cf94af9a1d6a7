"""What the plugin contributes, named by import strings."""

from __future__ import annotations

from holodeck_backend_claude.hookspecs import BackendType, ToolType, hookimpl

HOLODECK_API = 1


@hookimpl
def holodeck_adapt_tool() -> ToolType:
    """A tool type that works on every backend."""
    return ToolType(
        "word-count",
        config="acme_words.tool:WordCountConfig",
        adapter="acme_words.tool:WordCount",
        open="acme_words.tool:open_counter",
    )


@hookimpl
def holodeck_register_backend() -> BackendType:
    """A backend that asks no model and calls every tool."""
    return BackendType(
        "all-tools",
        providers=("acme",),
        factory="acme_words.backend:AllTools",
        settings_key="acme",
        settings="acme_words.backend:Settings",
    )
