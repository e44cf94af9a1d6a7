"""The lab of faults: an agent on Claude Code, real or a stand-in, and what must hold afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.claude import backend as claude_backend
from holodeck_backend_claude.claude.backend import ClaudeBackend
from holodeck_backend_claude.claude.process import client as claude_client
from holodeck_backend_claude.contract import (
    BackendError,
    ExecutionResult,
    HoloDeckError,
    ToolCall,
    ToolResult,
)
from holodeck_backend_claude.testing import Answer, ModelRequest, ScriptedMessagesAPI, forever, say
from holodeck_backend_claude.testing.playback import Playback
from tests.e2e.lab import Lab, nothing_left
from tests.faults.scenario import StandIn
from tests.support.probes import Behaviour, Probe, probe_schema

ANSWERED = "answer"
STILL_HERE = "Still here."


@dataclass(frozen=True)
class Place:
    """What pytest gives a test."""

    folder: Path
    private_folders: Path
    monkeypatch: pytest.MonkeyPatch
    caplog: pytest.LogCaptureFixture


class FaultLab(Lab):
    """A lab whose script can be exchanged, so that the next call can be seen to work."""

    def __init__(self, place: Place, stack: AsyncExitStack) -> None:
        super().__init__(place.folder, stack)
        self.stack = stack
        self.monkeypatch = place.monkeypatch
        self.caplog = place.caplog
        self.private_folders = place.private_folders
        self.stand_in: StandIn | None = None
        self.backends: list[ClaudeBackend] = []
        self._playback = Playback([])

    async def api(self, script: Any = ()) -> ScriptedMessagesAPI:
        self.model_says(script)
        return await super().api(self._answer)

    def model_says(self, script: Any) -> None:
        """What the model says from now on."""
        self._playback = Playback(script)

    async def _answer(self, request: ModelRequest) -> Answer:
        return await self._playback.answer(request)

    async def backend(self, api: ScriptedMessagesAPI, *probes: Probe, **said: Any) -> ClaudeBackend:
        backend = await super().backend(api, *probes, **said)
        self.backends.append(backend)
        return backend

    def with_stand_in(self) -> StandIn:
        """Put the stand-in into the place of the ``claude`` program."""
        self.stand_in = stand_in = StandIn(self.folder)
        for module in (claude_client, claude_backend):
            self.monkeypatch.setattr(module, "find_program", lambda: str(stand_in.path))
        return stand_in

    async def backend_with_stand_in(self, **said: Any) -> tuple[StandIn, ClaudeBackend]:
        """The stand-in and a backend that runs it; it asks no API."""
        stand_in = self.with_stand_in()
        return stand_in, await self.backend(await self.api(), **said)

    async def next_call_works(self) -> None:
        """Every backend that still runs answers one more message."""
        if self.stand_in is not None:
            self.stand_in = self.with_stand_in()
        for backend in self.backends:
            if backend._state:
                continue
            self.model_says([forever(say(STILL_HERE))])
            result = await backend.invoke_once("And now?")
            assert not result.is_error, f"the next call failed: {result}"
            assert result.response == (STILL_HERE if self.stand_in is None else "Hello.")


@asynccontextmanager
async def fault_lab(place: Place) -> AsyncIterator[FaultLab]:
    """A lab; when it is left, nothing of it may be."""
    place.monkeypatch.setattr(tempfile, "tempdir", str(place.private_folders))
    async with nothing_left(place.private_folders), AsyncExitStack() as stack:
        yield FaultLab(place, stack)


def tool(behave: Behaviour, name: str = "kb") -> Probe:
    """A tool that does this."""
    return Probe(name, behave, probe_schema())


def blocking_tool(behave: Callable[[ToolCall], Any], name: str = "kb") -> Probe:
    """A tool with an ordinary ``call``, which runs in a thread."""
    probe = tool(behave, name)
    probe.call = behave  # type: ignore[method-assign,assignment]
    return probe


def ended(result: ExecutionResult) -> str:
    """How a turn ended: its reason, or that it was answered."""
    return result.error_reason or "is_error without a reason" if result.is_error else ANSWERED


async def outcome(turn: Awaitable[ExecutionResult]) -> str:
    """How a turn ended that may raise: ``BackendSessionError: <reason>``."""
    try:
        return ended(await turn)
    except BackendError as error:
        reason = ended(error.result) if error.result is not None else str(error)
        return f"{type(error).__name__}: {reason}"


async def refusal(work: Awaitable[object]) -> HoloDeckError:
    """The error that this raises."""
    with pytest.raises(HoloDeckError) as error:
        await work
    return error.value


async def each(values: Sequence[str], try_one: Callable[[str], Awaitable[str]]) -> dict[str, str]:
    """What came of each value, one after the other."""
    return {value: await try_one(value) for value in values}


def found(_call: ToolCall) -> ToolResult:
    return ToolResult.from_text("found")
