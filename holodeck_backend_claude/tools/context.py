"""What a tool is given when it opens: its folders, the agent's embedder and model, its logger."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from holodeck_backend_claude.calls.names import folder_name, legal_name
from holodeck_backend_claude.config import DatabaseConfig, EmbeddingProviderConfig
from holodeck_backend_claude.contract import AskModel, ConfigError
from holodeck_backend_claude.hookspecs import ToolContext
from holodeck_backend_claude.redaction import is_secret_name, passwords_in
from holodeck_backend_claude.tools.rerankers import open_reranker

if TYPE_CHECKING:
    from holodeck_backend_claude.config import Agent, ToolConfig
    from holodeck_backend_claude.contract import Embedder
    from holodeck_backend_claude.registry import Registry


class Contexts:
    """Makes the context of each tool of an agent; they share one embedder."""

    def __init__(
        self, agent: Agent, registry: Registry, *, ask_model: AskModel, anew: bool = False
    ) -> None:
        self._agent = agent
        self._registry = registry
        self._anew = anew
        self._ask_model = ask_model
        self._embeddings = _Embeddings(agent)

    def of(self, config: ToolConfig) -> ToolContext:
        """The context of one tool."""
        context = ToolContext(
            base_dir=self._agent.base_dir,
            cache_dir=cache_dir(self._agent, config),
            embeddings=lambda: self._embeddings.of(config),
            ask_model=self._ask_model,
            progress=self._registry.given.progress,
            log=logging.getLogger(f"holodeck_backend_claude.tool.{legal_name(config.name)}"),
            anew=self._anew,
        )
        return replace(
            context, open_reranker=lambda model: open_reranker(model, context, self._registry)
        )

    async def close(self) -> None:
        """Close the embedder, if one was made; a tool that asks later gets another one."""
        await self._embeddings.close()


class _Embeddings:
    """The agent's embedders, made when first asked for, one a model, from whichever thread."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._lock = Lock()
        self._made: dict[tuple[str | None, int | None], Embedder | None] = {}

    def of(self, config: ToolConfig) -> Embedder | None:
        """The embedder of a tool: the agent's, or one of the model that the tool names.

        Raises:
            ConfigError: There is no such model, or a setting or package is missing.
        """
        own = (
            getattr(config, "embedding_model", None),
            getattr(config, "embedding_dimensions", None),
        )
        with self._lock:
            if own not in self._made:
                self._made[own] = self._make(config.name, *own)
            return self._made[own]

    def _make(self, tool: str, model: str | None, dimensions: int | None) -> Embedder | None:
        from holodeck_backend_claude.retrieval import make_embedder

        environment = self._agent.environment()
        if (model, dimensions) == (None, None):
            return make_embedder(self._agent.embedding_provider, environment)
        provider = self._agent.embedding_provider or EmbeddingProviderConfig()
        named = {"name": model, "dimensions": dimensions}
        own = {key: value for key, value in named.items() if value is not None}
        try:
            return make_embedder(provider.model_copy(update=own), environment)
        except ConfigError as cause:
            raise ConfigError(f"the embedding model of tool {tool!r}: {cause}") from cause

    async def close(self) -> None:
        with self._lock:
            made, self._made = self._made, {}
        for embedder in made.values():
            if embedder is not None:
                await embedder.close()


def cache_dir(agent: Agent, config: ToolConfig) -> Path:
    """The private folder of one tool of one agent, below ``.holodeck/`` beside agent.yaml."""
    tools = agent.base_dir / ".holodeck" / "tools"
    return tools / folder_name(agent.name) / folder_name(config.name)


def secrets_of(agent: Agent) -> Iterator[str]:
    """What must not appear in an error text, as a provider may echo the key it refuses."""
    providers = (agent.model, agent.embedding_provider)
    for provider in providers:
        yield from passwords_in(provider.endpoint if provider else None)
    keys = [provider.api_key for provider in providers if provider and provider.api_key]
    yield from (key.get_secret_value() for key in keys)
    for tool in agent.tools:
        database = getattr(tool, "database", None)
        if isinstance(database, DatabaseConfig):
            yield from passwords_in(database.secret_of("connection_string"))
            yield from passwords_in(database.url)
            yield from filter(None, [database.secret_of("api_key")])
    for name, value in agent.dotenv.items():
        text = value.get_secret_value()
        yield from (text,) if is_secret_name(name) else passwords_in(text)
