"""One turn as spans: the agent, the answers of its model, its tool calls, and its subagents."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from holodeck_backend_claude.contract import (
    ExecutionResult,
    Retrying,
    ToolEnd,
    ToolStart,
    TurnEnd,
    TurnEvent,
)
from holodeck_backend_claude.tracing import names
from holodeck_backend_claude.tracing.answers import write_answer
from holodeck_backend_claude.tracing.content import text_part
from holodeck_backend_claude.tracing.instruments import Instruments, Value
from holodeck_backend_claude.tracing.operations import Actor, Call, OpenCalls, Operation, now
from holodeck_backend_claude.tracing.turn import TracedAnswer, TurnTrace


class SpanTrace(TurnTrace):
    """See :class:`TurnTrace`.

    Args:
        instruments: What to write with.
        message: What the user says.
        system_prompt: What the model is told beside it.
        conversation_id: The conversation, where it is known by now.
        tools: The tools of this process; others run elsewhere.
    """

    is_on = True

    def __init__(
        self,
        instruments: Instruments,
        *,
        message: str,
        system_prompt: str,
        conversation_id: str | None,
        tools: Collection[str],
    ) -> None:
        self.conversation_id = conversation_id
        self._pen = instruments
        self._said = (system_prompt, message)
        self._tools = tools
        self._above = otel_context.get_current()
        self._agent: Actor | None = None
        self._subagents: dict[str, Actor] = {}
        self._calls = OpenCalls()
        self._finish_reason: str | None = None
        self._ended = False

    # --------------------------------------------------------------------------- what comes in

    def begin(self) -> None:
        """The turn begins."""
        if self._agent is not None or self._ended:
            return
        pen, (system_prompt, message) = self._pen, self._said
        attributes = pen.operation(
            names.INVOKE_AGENT,
            pen.agent,
            pen.request,
            pen.content.attribute(names.SYSTEM_INSTRUCTIONS, [text_part(system_prompt)]),
            pen.content.messages(names.INPUT_MESSAGES, "user", [text_part(message)]),
        )
        name = f"{names.INVOKE_AGENT} {pen.agent_name}"
        self._agent = Actor(*self._open(name, attributes, self._above), ready=now())

    def asked(self) -> None:
        """The message is on its way."""
        if self._agent is not None:
            self._agent.ready = now()

    def event(self, event: TurnEvent) -> None:
        """What a reader of the turn sees."""
        if self._agent is None or self._ended:
            return
        match event:
            case ToolStart():
                self._call_starts(self._agent, event)
            case ToolEnd():
                self._call_ends(self._agent, event)
            case Retrying(reason=reason):
                self.answer(TracedAnswer(error=names.error_type(reason)))
            case TurnEnd(result=result):
                self._end(self._agent, result)
            case _:
                return

    def answer(self, answer: TracedAnswer) -> None:
        """The model answered, or did not."""
        if self._agent is None or self._ended:
            return
        asking = self._actor(answer.parent_call_id) or self._agent
        own = asking is self._agent
        write_answer(answer, self._pen, asking, conversation_id=self.conversation_id, own_model=own)
        if own:
            self._finish_reason = answer.finish_reason

    def task_started(self, call_id: str) -> None:
        """The tool call runs a subagent."""
        self._actor(call_id)

    def task_ended(self, call_id: str) -> None:
        """Its subagent has ended."""
        subagent = self._subagents.pop(call_id, None)
        if subagent is not None:
            self._close(subagent)

    @asynccontextmanager
    async def running(
        self, name: str, arguments: Mapping[str, Any], call_id: str | None
    ) -> AsyncIterator[None]:
        """While a tool of this process runs its call, the call's span is the current one."""
        agent = self._agent
        if agent is None or self._ended:
            yield
            return
        call = await self._calls.claim(name, arguments, call_id)
        if call is None:
            call = self._call_starts(agent, ToolStart(call_id or "", name, dict(arguments)))
        token = otel_context.attach(call.within)
        try:
            yield
        finally:
            otel_context.detach(token)

    # ------------------------------------------------------------------------------ tool calls

    def _call_starts(self, agent: Actor, start: ToolStart) -> Call:
        known = self._calls.get(start.call_id)
        if known is not None:
            return known
        attributes = self._pen.operation(
            names.EXECUTE_TOOL,
            {
                names.CONVERSATION: self.conversation_id,
                names.TOOL_NAME: start.name,
                names.TOOL_CALL_ID: start.call_id or None,
                names.TOOL_TYPE: "function" if start.name in self._tools else "extension",
            },
            self._pen.content.attribute(names.TOOL_ARGUMENTS, start.arguments),
        )
        above = self._actor(start.parent_call_id) or agent
        name = f"{names.EXECUTE_TOOL} {start.name}"
        call = Call(
            *self._open(name, attributes, above.within),
            name=start.name,
            arguments=start.arguments,
            parent_call_id=start.parent_call_id,
        )
        self._calls.add(start.call_id, call)
        return call

    def _call_ends(self, agent: Actor, end: ToolEnd) -> None:
        call = self._calls.remove(end.call_id)
        if call is None:
            return
        call.span.set_attributes(self._pen.content.attribute(names.TOOL_RESULT, end.result))
        self._close(call, error="tool_error" if end.is_error else None)
        (self._actor(call.parent_call_id) or agent).ready = now()

    def _actor(self, call_id: str | None) -> Actor | None:
        """The subagent of a tool call; None for the agent itself."""
        if call_id is None or call_id in self._subagents:
            return self._subagents.get(call_id or "")
        call = self._calls.get(call_id)
        if call is None:
            return None
        kind = (call.arguments or {}).get("subagent_type")
        name = kind if isinstance(kind, str) and kind else call.name
        attributes = self._pen.operation(
            names.INVOKE_AGENT,
            {names.AGENT_NAME: name, names.CONVERSATION: self.conversation_id},
        )
        opened = self._open(f"{names.INVOKE_AGENT} {name}", attributes, call.within)
        self._subagents[call_id] = subagent = Actor(*opened, ready=now())
        return subagent

    # ----------------------------------------------------------------------------- to the rest

    def environment(self) -> Mapping[str, str]:
        """TRACEPARENT and, where there is one, TRACESTATE."""
        if self._agent is None:
            return {}
        carrier: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(carrier, context=self._agent.within)
        return {key.upper(): value for key, value in carrier.items()}

    def reporting(self, report: Callable[[TurnEvent], None]) -> Callable[[TurnEvent], None]:
        """The same report, which is told to the trace first."""

        def both(event: TurnEvent) -> None:
            self.event(event)
            report(event)

        return both

    # ------------------------------------------------------------------------- open and closed

    def _open(
        self, name: str, attributes: dict[str, Value], above: Context
    ) -> tuple[Any, Context, dict[str, Value], int]:
        started = now()
        span = self._pen.tracer.start_span(
            name, context=above, attributes=attributes, start_time=started
        )
        return span, set_span_in_context(span, self._above), attributes, started

    def _close(self, operation: Operation, *, error: str | None = None) -> None:
        if error is not None:
            operation.attributes[names.ERROR_TYPE] = error
            operation.span.set_attribute(names.ERROR_TYPE, error)
            operation.span.set_status(Status(StatusCode.ERROR))
        ended = now()
        operation.span.end(ended)
        self._pen.took(ended - operation.started, operation.attributes)

    def _end(self, agent: Actor, result: ExecutionResult) -> None:
        error = names.error_type(result.error_reason) if result.is_error else None
        for call in self._calls.drain():
            self._close(call, error=error or "unfinished")
        for call_id in tuple(self._subagents):
            self._close(self._subagents.pop(call_id), error=error)
        outcome = self._outcome(result)
        agent.attributes |= outcome
        agent.span.set_attributes(outcome)
        if self._finish_reason:
            agent.span.set_attribute(names.FINISH_REASONS, [self._finish_reason])
        self._close(agent, error=error)
        self._ended = True

    def _outcome(self, result: ExecutionResult) -> dict[str, Value]:
        used = result.token_usage
        return self._pen.operation(
            names.INVOKE_AGENT,
            {
                names.CONVERSATION: result.session_id or self.conversation_id,
                names.RESPONSE_MODEL: result.model,
                names.INPUT_TOKENS: used.get("input_tokens"),
                names.OUTPUT_TOKENS: used.get("output_tokens"),
                names.CACHE_READ: used.get("cache_read_input_tokens"),
                names.CACHE_CREATION: used.get("cache_creation_input_tokens"),
                names.COST_USD: result.cost_usd,
                names.NUM_TURNS: result.num_turns,
            },
            self._pen.content.messages(
                names.OUTPUT_MESSAGES, "assistant", [text_part(result.response)]
            ),
        )
