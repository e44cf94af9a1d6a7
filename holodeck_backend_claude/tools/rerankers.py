"""The reranker that a search tool names, of whichever plugin provides it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from holodeck_backend_claude.contract import ConfigError, Reranker
from holodeck_backend_claude.import_strings import resolve

if TYPE_CHECKING:
    from holodeck_backend_claude.config import RerankerConfig
    from holodeck_backend_claude.hookspecs import ToolContext
    from holodeck_backend_claude.registry import Registry


def open_reranker(
    model: RerankerConfig, context: ToolContext, registry: Registry
) -> AbstractAsyncContextManager[Reranker]:
    """The context manager around the reranker that ``reranker_model`` names.

    Raises:
        ConfigError: No loaded plugin provides it.
    """
    provided = registry.rerankers.get(model.provider)
    if provided is None:
        absent = registry.why_absent("reranker", model.provider)
        known = ", ".join(sorted(registry.rerankers)) or "none"
        raise ConfigError(
            f"reranker_model: no loaded plugin provides {model.provider!r}; known providers: "
            f"{known}. " + (f"{absent}" if absent else "Install the plugin that provides it")
        )
    opened: AbstractAsyncContextManager[Reranker] = resolve(provided.value.open)(model, context)
    return opened
