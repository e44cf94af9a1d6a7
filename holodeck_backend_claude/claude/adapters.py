"""The search tools' adapters of the Claude backend: neutral adapters that are also SDK tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from holodeck_backend_claude.contract import BackendInitError
from holodeck_backend_claude.tools.search import HierarchicalSearchAdapter, VectorSearchAdapter

if TYPE_CHECKING:
    from claude_agent_sdk import SdkMcpTool


class VectorStoreToolAdapter(VectorSearchAdapter):
    """Adapts a vectorstore tool: ``VectorStoreToolAdapter(config, instance)``."""

    def to_sdk_tool(self) -> SdkMcpTool[Any]:
        """The tool ``<name>_search`` for ``create_sdk_mcp_server``; its handler raises on error."""
        return _make_search_fn(self)


class HierarchicalDocToolAdapter(HierarchicalSearchAdapter):
    """Adapts a hierarchical document tool: ``HierarchicalDocToolAdapter(config, instance)``."""

    def to_sdk_tool(self) -> SdkMcpTool[Any]:
        """The tool ``<name>_search`` for ``create_sdk_mcp_server``; its handler raises on error."""
        return _make_search_fn(self)


SearchToolAdapter: TypeAlias = VectorStoreToolAdapter | HierarchicalDocToolAdapter

_ADAPTERS: dict[str, type[VectorStoreToolAdapter] | type[HierarchicalDocToolAdapter]] = {
    "vectorstore": VectorStoreToolAdapter,
    "hierarchical_document": HierarchicalDocToolAdapter,
}


def _make_search_fn(adapter: SearchToolAdapter) -> SdkMcpTool[Any]:
    # A function of its own per adapter: a closure made in a loop would see the last one only.
    import claude_agent_sdk

    async def search(arguments: dict[str, Any]) -> dict[str, Any]:
        text = await adapter.search_text(arguments["query"])
        return {"content": [{"type": "text", "text": text}]}

    return claude_agent_sdk.tool(adapter.name, adapter.description, {"query": str})(search)


def create_tool_adapters(
    tool_configs: Sequence[Any], tool_instances: Mapping[str, Any]
) -> list[SearchToolAdapter]:
    """Adapters for the search tools among ``tool_configs``; other types are passed over.

    Args:
        tool_configs: Config objects; only ``type`` and ``name`` decide.
        tool_instances: Initialized instances by ``config.name``.

    Raises:
        BackendInitError: A search tool has no instance.
    """
    adapters: list[SearchToolAdapter] = []
    for config in tool_configs:
        adapter_class = _ADAPTERS.get(config.type)
        if adapter_class is None:
            continue
        instance = tool_instances.get(config.name)
        if instance is None:
            raise BackendInitError(
                f"No initialized instance found for tool '{config.name}' (type: {config.type}). "
                "Ensure tool initialization completed before creating adapters."
            )
        adapters.append(adapter_class(config, instance))
    return adapters
