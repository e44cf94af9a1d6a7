"""Backends of every kind over tools that record what happens to them; no model is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from holodeck_backend_claude.claude.backend import ClaudeBackend
from holodeck_backend_claude.config import Agent, Instructions, ModelConfig
from holodeck_backend_claude.hookspecs import ToolContext
from holodeck_backend_claude.sk.backend import SKBackend
from tests.support.probes import ProbeConfig, probe_registry

BACKENDS: dict[str, tuple[type[ClaudeBackend] | type[SKBackend], str]] = {
    "claude": (ClaudeBackend, "anthropic"),
    "semantic-kernel": (SKBackend, "openai"),
}


class Stage:
    """Makes backends of one kind and records which of their tools were opened and closed."""

    def __init__(self, backend: str, folder: Path, make_adapter: Callable[..., Any]) -> None:
        self.factory, self.provider = BACKENDS[backend]
        self.folder = folder
        self.make_adapter = make_adapter
        self.events: list[str] = []

    @asynccontextmanager
    async def open(self, config: Any, _context: ToolContext) -> AsyncIterator[None]:
        self.events.append(f"open {config.name}")
        try:
            yield None
        finally:
            self.events.append(f"close {config.name}")

    def adapt(self, config: Any, _instance: Any) -> Any:
        return self.make_adapter(lambda _call: "found", name=config.name)

    def backend(
        self,
        *names: str,
        instructions: Instructions | None = None,
        adapter: Callable[[Any, Any], Any] | None = None,
        tool_instructions: Callable[[Any], Any] | None = None,
    ) -> ClaudeBackend | SKBackend:
        registry = probe_registry(
            adapter=adapter or self.adapt, open=self.open, instructions=tool_instructions
        )
        agent = Agent(
            name="a",
            model=ModelConfig(provider=self.provider, name="m", api_key="sk-a-key-for-tests"),
            instructions=instructions or Instructions(inline="Be brief."),
            tools=tuple(ProbeConfig(name=name) for name in names),
            base_dir=self.folder,
        )
        return self.factory(agent, registry)
