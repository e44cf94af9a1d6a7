"""A backend without a model: it calls every tool with the message and joins the answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from pydantic import BaseModel

from holodeck_backend_claude import ExecutionResult, StreamedSession, TextDelta, TurnEnd, TurnEvent
from holodeck_backend_claude.config import Agent
from holodeck_backend_claude.registry import Registry
from holodeck_backend_claude.tools.open_tools import OpenTools


class Settings(BaseModel):
    """``acme:`` in agent.yaml."""

    greeting: str = "Tools say:"


class AllTools:
    """The backend."""

    def __init__(self, agent: Agent, registry: Registry) -> None:
        settings = agent.settings_for("acme", Settings)
        self._greeting = settings.greeting
        self._tools = OpenTools(agent, registry, backend="all-tools", ask_model=self._ask_model)

    async def initialize(self) -> None:
        """Open the tools."""
        await self._tools.open()

    async def invoke_once(
        self, message: str, context: list[dict[str, Any]] | None = None
    ) -> ExecutionResult:
        """Call every tool."""
        texts = [(await tool.call({"text": message})).text for tool in self._tools.tools]
        return ExecutionResult(f"{self._greeting} {', '.join(texts)}")

    async def create_session(self) -> Session:
        """A conversation."""
        return Session(self)

    async def teardown(self) -> None:
        """Close the tools."""
        await self._tools.close()

    async def _ask_model(self, prompt: str) -> str:
        raise NotImplementedError(prompt)


class Session(StreamedSession):
    """A conversation that remembers nothing."""

    def __init__(self, backend: AllTools) -> None:
        self._backend = backend

    async def stream(self, message: str) -> AsyncIterator[TurnEvent]:
        """One turn as events."""
        result = await self._backend.invoke_once(message)
        yield TextDelta(result.response)
        yield TurnEnd(result)

    async def close(self) -> None:
        """Nothing to release."""
