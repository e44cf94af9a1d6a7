"""Runs one agent on Semantic Kernel; importing this loads nothing of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from holodeck_backend_claude.calls import BoundTool
from holodeck_backend_claude.connections import find_connection
from holodeck_backend_claude.consent import Consent
from holodeck_backend_claude.contract import (
    BackendInitError,
    BackendSessionError,
    ExecutionResult,
    FileInput,
)
from holodeck_backend_claude.earlier_turns import EarlierTurn, check_context
from holodeck_backend_claude.failures import keeps_from_starting
from holodeck_backend_claude.sk.plugin import NAME, SETTINGS_KEY
from holodeck_backend_claude.sk.session import SKSession
from holodeck_backend_claude.sk.settings import SKSettings
from holodeck_backend_claude.tools.open_tools import ASK_PROMPT, OpenTools
from holodeck_backend_claude.tracing import NO_TRACING, start_tracing

if TYPE_CHECKING:
    from holodeck_backend_claude.config import Agent, ModelConfig
    from holodeck_backend_claude.contract import JsonSchema
    from holodeck_backend_claude.registry import Registry
    from holodeck_backend_claude.sk.agent import KernelAgent
    from holodeck_backend_claude.sk.service import ObservedChat

log = logging.getLogger(__name__)


class SKBackend:
    """See :class:`~holodeck_backend_claude.contract.AgentBackend`.

    Args:
        agent: The validated agent.
        registry: Where its tool types come from, and whom to tell about progress.
    """

    def __init__(self, agent: Agent, registry: Registry) -> None:
        self._agent = agent
        self._settings = agent.settings_for(SETTINGS_KEY, SKSettings)
        self._open_tools = OpenTools(agent, registry, backend=NAME, ask_model=self._ask)
        self._service: ObservedChat | None = None
        self._kernel_agent: KernelAgent | None = None
        self._sessions: set[SKSession] = set()
        self._tracing = NO_TRACING
        given = registry.given
        self._consent = Consent(given.ask_permission, side_effects=given.side_effects)
        self._starting = asyncio.Lock()
        self._state = "not initialized: call initialize() first"

    async def initialize(self) -> None:
        """Check the credential, open the tools, build the agent; see the contract."""
        async with self._starting:
            if self._kernel_agent is None:
                await self._start()

    async def invoke_once(
        self,
        message: str,
        context: list[dict[str, Any]] | None = None,
        *,
        files: Sequence[FileInput] = (),
    ) -> ExecutionResult:
        """Run one message in a conversation of its own; see the contract.

        Earlier turns are the beginning of the chat history.

        Raises:
            BackendSessionError: The backend is not initialized, or torn down.
            ValueError: ``context`` is not a list of such turns, or a file cannot be sent.
        """
        session = self._session(self._running_agent(), check_context(context))
        try:
            return await session.run_turn(message, files=files)
        finally:
            await session.close()

    async def create_session(self, *, resume: str | None = None, fork: bool = False) -> SKSession:
        """Begin a conversation that remembers its turns.

        Raises:
            BackendSessionError: The backend is not initialized, or torn down; or ``resume`` or
                ``fork`` is given, as this backend stores no conversations.
        """
        if resume is not None or fork:
            raise BackendSessionError(
                "a conversation cannot be resumed or forked on the Semantic Kernel backend: it "
                "stores none"
            )
        return self._session(self._running_agent())

    async def teardown(self) -> None:
        """Close every session, then the tools and the connections; may be called twice."""
        self._state = "torn down"
        await self._release()

    # -------------------------------------------------------------------------------- within

    async def _start(self) -> None:
        with keeps_from_starting():
            schema = self._agent.response_schema()
        _check_model(self._agent.model)
        self._service = self._connect()
        try:
            self._tracing = start_tracing(self._agent, provider=_provider(self._agent.model))
            await self._open_tools.open()
            self._kernel_agent = self._built(
                self._service,
                instructions=self._open_tools.system_prompt,
                tools=self._open_tools.by_wire_name,
                schema=schema,
            )
        except BaseException:
            await self._release()
            raise
        self._state = ""

    def _running_agent(self) -> KernelAgent:
        if self._state or self._kernel_agent is None:
            raise BackendSessionError(f"the Semantic Kernel backend is {self._state}")
        return self._kernel_agent

    def _session(self, agent: KernelAgent, context: Sequence[EarlierTurn] = ()) -> SKSession:
        from holodeck_backend_claude.sk.history import Conversation

        session_id = str(uuid4())
        session = SKSession(
            agent,
            Conversation(session_id, context),
            session_id=session_id,
            max_turns=self._settings.max_turns,
            consent=self._consent,
            trace=lambda message: self._tracing.turn(
                message,
                system_prompt=agent.instructions,
                conversation_id=session_id,
                tools=agent.tool_names,
            ),
            on_close=self._sessions.discard,
        )
        self._sessions.add(session)
        return session

    def _connect(self) -> ObservedChat:
        with keeps_from_starting():
            connection = find_connection(self._agent.model, self._agent.environment())
        from holodeck_backend_claude.sk.providers import chat_service

        return chat_service(self._agent.model, connection)

    def _built(
        self,
        service: ObservedChat,
        *,
        instructions: str,
        tools: Mapping[str, BoundTool],
        schema: JsonSchema | None = None,
    ) -> KernelAgent:
        from holodeck_backend_claude.sk.agent import KernelAgent
        from holodeck_backend_claude.sk.providers import request_settings

        return KernelAgent(
            service=service,
            settings=request_settings(self._agent.model, schema),
            name=self._agent.name,
            instructions=instructions,
            tools=tools,
            timeout=self._agent.execution.llm_timeout,
            max_retries=self._agent.execution.max_retries,
            response_schema=schema,
        )

    async def _ask(self, prompt: str) -> str:
        """The agent's model without tools, for a tool that needs it."""
        if self._service is None:
            raise BackendSessionError(f"the Semantic Kernel backend is {self._state}")
        session = self._session(self._built(self._service, instructions=ASK_PROMPT, tools={}))
        try:
            return (await session.send(prompt)).response
        finally:
            await session.close()

    async def _release(self) -> None:
        service, self._service = self._service, None
        self._kernel_agent = None
        await asyncio.gather(*(session.close() for session in tuple(self._sessions)))
        await self._open_tools.close()
        if service is not None:
            await service.client.close()
        tracing, self._tracing = self._tracing, NO_TRACING
        await tracing.close()


def _provider(model: ModelConfig) -> str:
    """Who serves the model, by the name that the conventions of OpenTelemetry have for it."""
    return {"azure_openai": "azure.ai.openai"}.get(model.provider, model.provider)


def _check_model(model: ModelConfig) -> None:
    """Refuse another login than asked for; name once what merely has no effect."""
    if model.auth_provider not in (None, "api_key"):
        raise BackendInitError(
            f"model.auth_provider: {model.auth_provider} is a way to reach Claude, and the "
            f"provider is '{model.provider}', which is reached with model.api_key or its "
            "variable: remove auth_provider from agent.yaml, or take 'provider: anthropic'"
        )
    if model.api_version is not None and model.provider != "azure_openai":
        log.warning("model.api_version has no effect with the provider '%s'", model.provider)
