"""The search tools as every backend sees them, over any instance of the right shape."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from holodeck_backend_claude.contract import (
    BackendSessionError,
    JsonSchema,
    ToolAnnotations,
    ToolCall,
    ToolResult,
)

NO_RESULTS = "No results found."
_BETWEEN_RESULTS = "\n---\n"
_LONGEST_DESCRIPTION = 200
_SEARCH = ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)


class _SearchAdapter(ABC):
    """What the search adapters have in common.

    Attributes:
        config: The tool's config; only ``name`` and ``description`` are used.
        instance: The live tool.
    """

    def __init__(self, config: Any, instance: Any) -> None:
        self.config = config
        self.instance = instance

    @property
    def name(self) -> str:
        """``<tool>_search``."""
        return f"{self.config.name}_search"

    @property
    def description(self) -> str:
        """What is searched, in at most 200 characters."""
        text = f"Search {self.config.name}: {self.config.description}"
        if len(text) <= _LONGEST_DESCRIPTION:
            return text
        return text[: _LONGEST_DESCRIPTION - 3] + "..."

    @property
    def input_schema(self) -> JsonSchema:
        """One required string, ``query``."""
        query = {"type": "string", "description": "What to look for, in words or as a question."}
        return {
            "type": "object",
            "properties": {"query": query},
            "required": ["query"],
            "additionalProperties": False,
        }

    @property
    def annotations(self) -> ToolAnnotations:
        """Reads a closed set of documents, the same each time."""
        return _SEARCH

    async def call(self, call: ToolCall) -> ToolResult:
        """Search for the ``query`` of the call."""
        return ToolResult.from_text(await self.search_text(call.arguments["query"]))

    async def search_text(self, query: str) -> str:
        """What was found, as text for the model.

        Raises:
            BackendSessionError: The instance is not initialized.
            Exception: Whatever the search itself raised.
        """
        if not self._is_initialized():
            raise BackendSessionError(f"Tool '{self.config.name}' is not initialized")
        return await self._found(query) or NO_RESULTS

    @abstractmethod
    def _is_initialized(self) -> bool:
        """Whether the instance can be searched."""

    @abstractmethod
    async def _found(self, query: str) -> str:
        """What the instance found, as text; empty where it found nothing."""


class VectorSearchAdapter(_SearchAdapter):
    """A vectorstore: ``await instance.search(query)`` is the text; ``instance.is_initialized``."""

    def _is_initialized(self) -> bool:
        return bool(self.instance.is_initialized)

    async def _found(self, query: str) -> str:
        text: str = await self.instance.search(query)
        return text


class HierarchicalSearchAdapter(_SearchAdapter):
    """Structured documents: ``await instance.search(query)`` is a list of results to format."""

    def _is_initialized(self) -> bool:
        if hasattr(self.instance, "_initialized"):
            return bool(self.instance._initialized)
        return bool(self.instance.is_initialized)

    async def _found(self, query: str) -> str:
        results = await self.instance.search(query)
        return _BETWEEN_RESULTS.join(result.format() for result in results or ())
