"""What is open while a turn runs: agents, subagents and tool calls, each with its span."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holodeck_backend_claude.tracing.instruments import Value

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span

ARRIVAL_SECONDS = 1.0
"""How long a running call waits for the model's message that announces it."""


def now() -> int:
    """Nanoseconds since the epoch."""
    return time.time_ns()


@dataclass(eq=False)
class Operation:
    """A span that is open.

    Attributes:
        span: The span.
        within: The context of what happens within it.
        attributes: What the span says so far, for the metrics.
        started: Nanoseconds since the epoch.
    """

    span: Span
    within: Context
    attributes: dict[str, Value]
    started: int


@dataclass(eq=False)
class Actor(Operation):
    """An agent or subagent; ``ready`` is when it had last nothing but its model to wait for."""

    ready: int = 0


@dataclass(eq=False)
class Call(Operation):
    """A tool call; ``claimed`` once this process runs it."""

    name: str = ""
    arguments: Mapping[str, Any] | None = None
    parent_call_id: str | None = None
    claimed: bool = False


class OpenCalls:
    """The tool calls that run, by the model's ids."""

    def __init__(self) -> None:
        self._calls: dict[str, Call] = {}
        self._arrival = asyncio.Event()

    def get(self, call_id: str | None) -> Call | None:
        """The call with this id, while it runs."""
        return self._calls.get(call_id) if call_id is not None else None

    def add(self, call_id: str, call: Call) -> None:
        """A call has been announced."""
        self._calls[call_id] = call
        self._arrival.set()
        self._arrival = asyncio.Event()

    def remove(self, call_id: str) -> Call | None:
        """A call has ended."""
        return self._calls.pop(call_id, None)

    def drain(self) -> list[Call]:
        """All calls that run; none does from now on."""
        calls = list(self._calls.values())
        self._calls.clear()
        return calls

    async def claim(
        self, name: str, arguments: Mapping[str, Any], call_id: str | None
    ) -> Call | None:
        """The call that begins to run here, waited for a moment; None where none was announced.

        Args:
            name: The tool.
            arguments: As the model sent them.
            call_id: The model's id of the call; without it, name and arguments tell.
        """
        until = asyncio.get_running_loop().time() + ARRIVAL_SECONDS
        while (call := self._announced(name, arguments, call_id)) is None:
            try:
                async with asyncio.timeout_at(until):
                    await self._arrival.wait()
            except TimeoutError:
                return None
        call.claimed = True
        return call

    def _announced(
        self, name: str, arguments: Mapping[str, Any], call_id: str | None
    ) -> Call | None:
        if call_id is not None:
            return self._calls.get(call_id)
        waiting = [c for c in self._calls.values() if c.name == name and not c.claimed]
        same = (call for call in waiting if call.arguments == arguments)
        return next(same, waiting[0] if waiting else None)
