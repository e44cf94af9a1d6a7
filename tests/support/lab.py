"""An agent on one backend against a scripted API, built by a test and ended after it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel

from holodeck_backend_claude.claude.backend import ClaudeBackend
from holodeck_backend_claude.config import Agent, ExecutionConfig, Instructions, ModelConfig
from holodeck_backend_claude.sk.backend import SKBackend
from holodeck_backend_claude.testing import ScriptedMessagesAPI, ScriptedOpenAIAPI

from .probes import Probe, ProbeConfig, registry_of

Api = TypeVar("Api", ScriptedMessagesAPI, ScriptedOpenAIAPI)
Backend = TypeVar("Backend", ClaudeBackend, SKBackend)


class Lab(Generic[Api, Backend]):
    """What the labs of the backends have in common; each says what it is a lab of.

    Attributes:
        model: What the agent's ``model`` says, unless a test says otherwise.
        max_retries: The agent's, unless a test says otherwise.
    """

    api_type: type[Api]
    backend_type: type[Backend]
    settings_key: ClassVar[str]
    settings_type: ClassVar[type[BaseModel]]
    model: ClassVar[dict[str, Any]]
    max_retries: ClassVar[int]

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self.folder = folder
        self._stack = stack

    def endpoint(self, api: Api) -> str:
        """Where ``model.endpoint`` points to reach this API."""
        raise NotImplementedError

    async def api(self, script: Any) -> Api:
        """The scripted API, for as long as the test lasts."""
        return await self._stack.enter_async_context(self.api_type(script))

    def agent(
        self,
        api: Api | None,
        *probes: Probe,
        model: dict[str, Any] | None = None,
        execution: dict[str, Any] | None = None,
        tool: dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None,
        **fields: Any,
    ) -> Agent:
        """An agent with these probes for tools.

        Args:
            api: Where its model is reached; None says nothing about it.
            probes: Its tools.
            model: Keys of ``model`` that are said otherwise.
            execution: Keys of ``execution``.
            tool: What every tool's config says.
            settings: The block of the backend.
            fields: Anything else of the agent.
        """
        reached = {"endpoint": self.endpoint(api)} if api is not None else {}
        limits = {"llm_timeout": 20, "max_retries": self.max_retries}
        given: dict[str, Any] = {
            "name": "probe agent",
            "model": ModelConfig(**{**self.model, **reached, **(model or {})}),
            "instructions": Instructions(inline="You are a probe."),
            "tools": tuple(ProbeConfig(name=probe.name, **(tool or {})) for probe in probes),
            "execution": ExecutionConfig(**{**limits, **(execution or {})}),
            "settings": {self.settings_key: self.settings_type(**(settings or {}))},
            "base_dir": self.folder,
        }
        return Agent(**{**given, **fields})

    async def backend(self, api: Api, *probes: Probe, **said: Any) -> Backend:
        """An initialized backend; ``said`` is what :meth:`agent` takes."""
        backend = self.backend_type(self.agent(api, *probes, **said), registry_of(*probes))
        self._stack.push_async_callback(backend.teardown)
        await backend.initialize()
        return backend

    async def run(self, script: Any, *probes: Probe, **said: Any) -> Any:
        """The scripted API and the backend on it."""
        api = await self.api(script)
        return api, await self.backend(api, *probes, **said)
