"""A backend as a plugin would bring it: it answers what it is told, and misbehaves on request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, SecretStr

from holodeck_backend_claude import StreamedSession
from holodeck_backend_claude.concurrency import in_thread
from holodeck_backend_claude.contract import (
    BackendInitError,
    BackendSessionError,
    ExecutionResult,
    Retrying,
    TextDelta,
    ToolEnd,
    ToolStart,
    TurnEnd,
    TurnEvent,
)
from holodeck_backend_claude.hookspecs import BackendType, hookimpl

HOLODECK_API = 1


class EchoSettings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    start: str = "well"
    token: SecretStr | None = None


class EchoBackend:
    def __init__(self, agent: Any, registry: Any) -> None:
        self.agent = agent
        self.registry = registry
        self.diary = Path(agent.base_dir) / "diary.txt"

    def note(self, text: str) -> None:
        with self.diary.open("a") as diary:
            diary.write(f"{text}\n")

    async def initialize(self) -> None:
        self.note("initialize")
        settings = self.agent.settings_for("echo", EchoSettings)
        if settings.start == "badly":
            raise BackendInitError("there is no credential for Echo: set ECHO_KEY")
        self.registry.given.progress("tuning", 1, 2)

    async def invoke_once(
        self, message: str, context: list[dict[str, Any]] | None = None
    ) -> ExecutionResult:
        if message == "hang":
            await self.hang()
        if message == "stubborn":
            try:
                await self.hang()
            finally:
                await asyncio.Event().wait()
        if message == "block":
            self.note("blocking")
            time.sleep(1000)
        if message == "thread":
            await in_thread(self.work_for_long)
        if message == "fail":
            return failure()
        return ExecutionResult(f"echo: {message}", token_usage={"total_tokens": 3})

    async def hang(self) -> None:
        self.note("hanging")
        try:
            await asyncio.Event().wait()
        finally:
            self.note("stopped")

    def work_for_long(self) -> None:
        self.note("working")
        time.sleep(1000)

    async def create_session(self) -> EchoSession:
        return EchoSession(self)

    async def teardown(self) -> None:
        self.note("teardown")


def failure() -> ExecutionResult:
    return ExecutionResult(
        "so far", is_error=True, error_reason="rate limited", error_detail="come back later"
    )


class EchoSession(StreamedSession):
    def __init__(self, backend: EchoBackend) -> None:
        self.backend = backend
        self.turns = 0

    async def stream(self, message: str) -> AsyncIterator[TurnEvent]:
        self.turns += 1
        if message == "die":
            raise BackendSessionError("the session cannot take a message: it is dead")
        if message == "fail":
            yield TextDelta("so far")
            yield TurnEnd(failure())
            return
        if message == "hang":
            yield TextDelta("waiting")
            await self.backend.hang()
        if message == "block":
            self.backend.note("blocking")
            time.sleep(1000)
        if message == "tool":
            yield Retrying(1, "overloaded", 0.5)
            yield ToolStart("c1", "kb_search", {"query": "refunds"})
            yield ToolEnd("c1", "kb_search", "30 days\nno more", is_error=False)
        for word in (f"turn {self.turns}: ", message):
            yield TextDelta(word)
        yield TurnEnd(ExecutionResult(f"turn {self.turns}: {message}"))

    async def close(self) -> None:
        self.backend.note("close")


@hookimpl
def holodeck_register_backend() -> BackendType:
    # it was written before messages could have files and sessions be resumed, and still has to work
    before: Any = EchoBackend
    return BackendType("echo", ("echo",), before, "echo", EchoSettings)
