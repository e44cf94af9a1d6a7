"""Opening the built-in tool types: async context managers around their live instances."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from holodeck_backend_claude.concurrency.threads import in_thread

if TYPE_CHECKING:
    from holodeck_backend_claude.config import VectorstoreTool
    from holodeck_backend_claude.hookspecs import ToolContext
    from holodeck_backend_claude.tools.vectorstore import VectorStoreTool


@asynccontextmanager
async def open_vectorstore(
    config: VectorstoreTool, context: ToolContext
) -> AsyncIterator[VectorStoreTool]:
    """An indexed vectorstore, closed at the end."""
    from holodeck_backend_claude.tools.vectorstore import VectorStoreTool

    embedder = await in_thread(context.embeddings)  # loading a model takes a while
    tool = VectorStoreTool(
        config,
        base_dir=context.base_dir,
        cache_dir=context.cache_dir,
        embedder=embedder,
        progress=context.progress,
        log=context.log,
    )
    try:
        await tool.initialize()
        yield tool
    finally:
        await tool.close()
