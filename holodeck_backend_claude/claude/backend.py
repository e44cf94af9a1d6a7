"""Runs one agent on the Claude Agent SDK: one set of open tools, a process per conversation."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holodeck_backend_claude import outcomes
from holodeck_backend_claude.claude.connecting import connector, permissions_of
from holodeck_backend_claude.claude.native_mcp import opened_here
from holodeck_backend_claude.claude.permissions.advice import unasked_advice
from holodeck_backend_claude.claude.permissions.gate import Gate
from holodeck_backend_claude.claude.plugin import NAME
from holodeck_backend_claude.claude.pool import WarmSessions
from holodeck_backend_claude.claude.process.client import find_program
from holodeck_backend_claude.claude.profile import Profile, checked_profile, with_tools
from holodeck_backend_claude.claude.server_names import full_names
from holodeck_backend_claude.claude.session import ClaudeSession
from holodeck_backend_claude.claude.settings import settings_of
from holodeck_backend_claude.claude.telemetry import part_of, report_unmapped
from holodeck_backend_claude.claude.transcripts.beginning import Beginning
from holodeck_backend_claude.claude.transcripts.opening import begin
from holodeck_backend_claude.claude.transcripts.stored import check_store
from holodeck_backend_claude.concurrency import in_thread
from holodeck_backend_claude.consent import Consent
from holodeck_backend_claude.contract import (
    BackendError,
    BackendSessionError,
    ExecutionResult,
    FileInput,
    InputFile,
    TurnEnd,
)
from holodeck_backend_claude.earlier_turns import with_context
from holodeck_backend_claude.failures import keeps_from_starting
from holodeck_backend_claude.input_files import read_files
from holodeck_backend_claude.tools.open_tools import ASK_PROMPT, OpenTools
from holodeck_backend_claude.tracing import NO_TRACING, TurnTrace, start_tracing

if TYPE_CHECKING:
    from holodeck_backend_claude.config import Agent
    from holodeck_backend_claude.registry import Registry

log = logging.getLogger(__name__)

_TORN_DOWN = "torn down"


class ClaudeBackend:
    """See :class:`~holodeck_backend_claude.contract.AgentBackend`.

    Args:
        agent: The validated agent.
        registry: Where its tool types come from, and whom to tell about progress.

    Attributes:
        warm: The sessions that are connected ahead.
    """

    def __init__(self, agent: Agent, registry: Registry) -> None:
        self._agent = agent
        self._open_tools = OpenTools(
            opened_here(agent, settings_of(agent)),
            registry,
            backend=NAME,
            ask_model=self._ask,
            names=full_names,
        )
        self._profile = Profile("")
        self._tracing = NO_TRACING
        given = registry.given
        self._consent = Consent(given.ask_permission, side_effects=given.side_effects)
        self._sessions: set[ClaudeSession] = set()
        self.warm = WarmSessions(
            lambda: self._session(self._profile), size=_warm_clients(agent, registry)
        )
        self._starting = asyncio.Lock()
        self._state = "not initialized: call initialize() first"

    async def initialize(self) -> None:
        """Check credential and program, open the tools, build a server once to check it."""
        async with self._starting:
            if self._state:
                await self._start()

    async def invoke_once(
        self,
        message: str,
        context: list[dict[str, Any]] | None = None,
        *,
        files: Sequence[FileInput] = (),
    ) -> ExecutionResult:
        """Run one message in a process of its own; see the contract.

        Earlier turns are quoted before the message.

        Raises:
            BackendSessionError: The backend is not initialized, or torn down.
            ValueError: ``context`` is not a list of such turns, or a file cannot be sent.
        """
        self._require_running()
        ready = await in_thread(read_files, files) if files else ()
        whole = with_context(message, context)
        trace = self._trace(self._profile, whole)
        trace.begin()  # a process that is started now is started for this turn
        try:
            with part_of(trace):
                session = await self.warm.take()
        except BackendSessionError as error:
            result = error.result or outcomes.never_ran(outcomes.CRASHED, str(error))
            trace.event(TurnEnd(result))
            return result
        session.next_trace = trace
        return await _run_alone(session, whole, ready)

    async def create_session(
        self, *, resume: str | None = None, fork: bool = False
    ) -> ClaudeSession:
        """Start a process that remembers its turns; see the contract.

        Raises:
            BackendSessionError: The process did not start, the backend is not running, or the
                conversation to resume is not there or is in use.
            ValueError: ``fork`` without ``resume``.
        """
        self._require_running()
        beginning = await begin(self._agent, resume=resume, fork=fork)
        try:
            self._require_running()  # it may have been torn down meanwhile
        except BackendSessionError:
            await beginning.give_up()
            raise
        if beginning.recording is None:  # it is not stored, so any new one will do
            return await self.warm.take()
        session = self._session(self._profile, beginning=beginning)
        await session.open()
        return session

    async def teardown(self) -> None:
        """End every session, then close the tools; may be called twice."""
        self._state = _TORN_DOWN
        closing = [session.close() for session in tuple(self._sessions)]
        await asyncio.gather(self.warm.close(), *closing)
        await self._open_tools.close()
        await self._tracing.close()

    # -------------------------------------------------------------------------------- within

    async def _start(self) -> None:
        profile = checked_profile(self._agent)
        with keeps_from_starting():
            find_program()
            await check_store(self._agent)
        self._tracing = start_tracing(self._agent, provider=_provider(self._agent))
        report_unmapped(self._agent)
        try:
            await self._open_tools.open()
            self._profile = with_tools(
                profile,
                self._agent,
                self._open_tools.by_wire_name,
                system_prompt=self._open_tools.system_prompt,
            )
            permissions = permissions_of(self._agent, self._profile, self._consent)
            if permissions.denied_unasked:
                log.warning("%s", unasked_advice(permissions.denied_unasked))
            if profile.native.configs:
                await self._check_start()
        except BaseException:
            await self._open_tools.close()
            await self._tracing.close()
            raise
        self._state = ""
        self.warm.fill()

    async def _check_start(self) -> None:
        """Start a process once, to see that the servers it brings are connected."""
        before, self._state = self._state, ""
        try:
            session = self._session(self._profile)
            try:
                with keeps_from_starting():
                    await session.open()
            finally:
                await session.close()
        finally:
            self._state = before

    def _require_running(self) -> None:
        if self._state == _TORN_DOWN:
            raise outcomes.interrupted(f"the Claude backend is {self._state}")
        if self._state:
            raise BackendSessionError(f"the Claude backend is {self._state}")

    def _trace(self, profile: Profile, message: str) -> TurnTrace:
        return self._tracing.turn(
            message,
            system_prompt=profile.system_prompt,
            tools=[tool.name for tool in profile.tools.values()],
        )

    def _session(self, profile: Profile, *, beginning: Beginning | None = None) -> ClaudeSession:
        self._require_running()
        begins = beginning or Beginning()
        gate = Gate(permissions_of(self._agent, profile, self._consent))
        session = ClaudeSession(
            connector(self._agent, profile, begins, gate),
            beginning=begins,
            turn_seconds=self._agent.execution.llm_timeout,
            gate=gate,
            schema=profile.response_schema,
            trace=lambda message: self._trace(profile, message),
            on_close=self._sessions.discard,
        )
        self._sessions.add(session)
        return session

    async def _ask(self, prompt: str) -> str:
        """The agent's model without tools, for a tool that needs it."""
        session = self._session(Profile(ASK_PROMPT))
        await session.open()
        return outcomes.check_turn(await _run_alone(session, prompt)).response


async def _run_alone(
    session: ClaudeSession, message: str, files: Sequence[InputFile] = ()
) -> ExecutionResult:
    try:
        return await session.run_turn(message, files=files)
    except BackendError as error:
        return error.result or outcomes.never_ran(outcomes.CRASHED, str(error))
    finally:
        await session.close()


def _provider(agent: Agent) -> str:
    """Who serves the model, by the name that the conventions of OpenTelemetry have for it."""
    served = {"bedrock": "aws.bedrock", "vertex": "gcp.vertex_ai"}
    return served.get(agent.model.auth_provider or "", "anthropic")


def _warm_clients(agent: Agent, registry: Registry) -> int:
    said = settings_of(agent).warm_clients
    return registry.given.warm_clients if said is None else said
