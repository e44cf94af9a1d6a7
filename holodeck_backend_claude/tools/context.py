"""What a tool is given when it opens: its folders, the agent's embedder and model, its logger."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from holodeck_backend_claude.calls.names import folder_name, legal_name
from holodeck_backend_claude.config import DatabaseConfig
from holodeck_backend_claude.contract import AskModel, ShowProgress
from holodeck_backend_claude.hookspecs import ToolContext
from holodeck_backend_claude.redaction import is_secret_name, passwords_in

if TYPE_CHECKING:
    from holodeck_backend_claude.config import Agent, ToolConfig
    from holodeck_backend_claude.contract import Embedder


class Contexts:
    """Makes the context of each tool of an agent; they share one embedder."""

    def __init__(
        self, agent: Agent, *, ask_model: AskModel, progress: ShowProgress, anew: bool = False
    ) -> None:
        self._agent = agent
        self._anew = anew
        self._ask_model = ask_model
        self._progress = progress
        self._embeddings = _Embeddings(agent)

    def of(self, config: ToolConfig) -> ToolContext:
        """The context of one tool."""
        return ToolContext(
            base_dir=self._agent.base_dir,
            cache_dir=cache_dir(self._agent, config),
            embeddings=self._embeddings,
            ask_model=self._ask_model,
            progress=self._progress,
            log=logging.getLogger(f"holodeck_backend_claude.tool.{legal_name(config.name)}"),
            anew=self._anew,
        )

    async def close(self) -> None:
        """Close the embedder, if one was made; a tool that asks later gets another one."""
        await self._embeddings.close()


class _Embeddings:
    """The agent's embedder, made when first asked for, once, from whichever thread."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._lock = Lock()
        self._made: tuple[Embedder | None] | None = None

    def __call__(self) -> Embedder | None:
        with self._lock:
            if self._made is None:
                from holodeck_backend_claude.retrieval import make_embedder

                agent = self._agent
                self._made = (make_embedder(agent.embedding_provider, agent.environment()),)
            return self._made[0]

    async def close(self) -> None:
        with self._lock:
            (embedder,), self._made = self._made or (None,), None
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
