"""The tool calls that run right now: each in a task of its own, so that it can be cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any

from holodeck_backend_claude import outcomes
from holodeck_backend_claude.calls import failed_server
from holodeck_backend_claude.contract import ToolResult
from holodeck_backend_claude.tracing import NO_TRACE, TurnTrace

if TYPE_CHECKING:
    from holodeck_backend_claude.calls import BoundTool


class RunningCalls:
    """Runs the calls of one session.

    Args:
        session_id: Gives the id of the conversation.
        stop_turn: Called with reason and detail where a tool ends the run.
        context: Gives the context that a call runs in.
        trace: Gives the trace of the turn that a call belongs to.
    """

    def __init__(
        self,
        *,
        session_id: Callable[[], str | None],
        stop_turn: Callable[[str, str], None],
        context: Callable[[], Context] = copy_context,
        trace: Callable[[], TurnTrace] = lambda: NO_TRACE,
    ) -> None:
        self._session_id = session_id
        self._stop_turn = stop_turn
        self._context = context
        self._trace = trace
        self._tasks: set[asyncio.Task[ToolResult]] = set()

    async def run(
        self, tool: BoundTool, arguments: Mapping[str, Any], call_id: str | None
    ) -> ToolResult:
        """Run one call for the SDK."""
        async with self._trace().running(tool.name, arguments, call_id):
            return await self._run(tool, arguments, call_id)

    async def _run(
        self, tool: BoundTool, arguments: Mapping[str, Any], call_id: str | None
    ) -> ToolResult:
        call = asyncio.create_task(
            tool.call(arguments, call_id=call_id, session_id=self._session_id()),
            context=self._context(),
        )
        self._tasks.add(call)
        call.add_done_callback(self._tasks.discard)
        try:
            result = await call
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if this is not None and this.cancelling():
                raise  # it was the SDK that gave the call up
            return ToolResult.from_text("the call was cancelled", is_error=True)
        if tool.ended_by(result):
            reason = outcomes.tool_failed(tool.name, server=failed_server(result))
            self._stop_turn(reason, result.text)
        return result

    def cancel(self) -> None:
        """Cancel all of them."""
        for call in tuple(self._tasks):
            call.cancel()
