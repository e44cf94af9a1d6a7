"""The answers of the models, as a trace wants them: out of the SDK's messages, one by one.

The deltas of the agent's own model tell everything. Of a subagent's model only whole messages
come, whose count of output tokens is that of the beginning: it is left out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from claude_agent_sdk import (
    AssistantMessage,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from holodeck_backend_claude.claude.turns.usage import PARTS
from holodeck_backend_claude.tracing import TracedAnswer, TurnTrace, call_part, text_part

if TYPE_CHECKING:
    from holodeck_backend_claude.calls import BoundTool

_SYNTHETIC_MODEL = "<synthetic>"


@dataclass
class _Pending:
    """An answer that is not complete yet."""

    answer_id: str | None
    model: str | None
    usage: dict[str, int] = field(default_factory=dict)
    finish_reason: str | None = None
    parts: list[Mapping[str, Any]] = field(default_factory=list)
    last: int = 0


class Answers:
    """Tells a trace of each answer; made only where there is one that keeps it.

    Args:
        trace: The trace of the turn, whose message is about to be sent.
        tools: The tools by their full wire name; traces carry the tools' own names.
    """

    def __init__(self, trace: TurnTrace, tools: Mapping[str, BoundTool]) -> None:
        trace.asked()
        self._trace = trace
        self._tools = tools
        self._pending: dict[str | None, _Pending] = {}

    def feed(self, message: object) -> None:
        """Take one message of the SDK, before anyone else sees it."""
        session_id = getattr(message, "session_id", None)
        if isinstance(session_id, str) and session_id:
            self._trace.conversation_id = session_id
        match message:
            case StreamEvent(parent_tool_use_id=parent, event=event):
                self._delta(parent, event)
            case AssistantMessage():
                self._whole(message)
            case UserMessage(content=list() as blocks, parent_tool_use_id=parent):
                if any(isinstance(block, ToolResultBlock) for block in blocks):
                    self._complete(parent)
            case SystemMessage(subtype="task_started", data=data):
                self._trace.task_started(str(data.get("tool_use_id")))
            case SystemMessage(subtype="task_notification", data=data):
                call_id = str(data.get("tool_use_id"))
                self._complete(call_id)
                self._trace.task_ended(call_id)
            case ResultMessage():
                for parent in tuple(self._pending):
                    self._complete(parent)
            case _:
                return

    def _delta(self, parent: str | None, event: Mapping[str, Any]) -> None:
        match event.get("type"):
            case "message_start":
                self._complete(parent)
                said = event.get("message") or {}
                self._pending[parent] = begun = _Pending(said.get("id"), said.get("model"))
                _count(begun, said.get("usage"), PARTS)
            case "message_delta" if (begins := self._pending.get(parent)) is not None:
                _count(begins, event.get("usage"), PARTS)
                begins.finish_reason = (event.get("delta") or {}).get("stop_reason")
            case "message_stop":
                self._complete(parent)

    def _whole(self, message: AssistantMessage) -> None:
        parent = message.parent_tool_use_id
        if message.model == _SYNTHETIC_MODEL:
            self._complete(parent)
            self._trace.answer(TracedAnswer(parent, error=message.error or "request_failed"))
            return
        begun = self._pending.get(parent)
        if begun is None or begun.answer_id != message.message_id:
            self._complete(parent)
            begun = self._pending[parent] = _Pending(message.message_id, message.model)
            _count(begun, message.usage, [part for part in PARTS if part != "output_tokens"])
        begun.parts += self._parts(message)
        begun.last = time.time_ns()

    def _complete(self, parent: str | None) -> None:
        done = self._pending.pop(parent, None)
        if done is None:
            return
        plain, output, read, created = (done.usage.get(part) for part in PARTS)
        known = [count for count in (plain, read, created) if count is not None]
        self._trace.answer(
            TracedAnswer(
                parent_call_id=parent,
                model=done.model,
                answer_id=done.answer_id,
                finish_reason=done.finish_reason,
                input_tokens=sum(known) if known else None,
                output_tokens=output,
                cache_read=read,
                cache_creation=created,
                parts=tuple(done.parts),
                ended=None if done.finish_reason else done.last or None,
            )
        )

    def _parts(self, message: AssistantMessage) -> Iterator[Mapping[str, Any]]:
        for block in message.content:
            match block:
                case TextBlock(text=text):
                    yield text_part(text)
                case ThinkingBlock(thinking=thinking) if thinking:
                    yield {"type": "reasoning", "content": thinking}
                case ToolUseBlock(id=call_id, name=wire_name, input=arguments):
                    tool = self._tools.get(wire_name)
                    yield call_part(call_id, tool.name if tool else wire_name, arguments)
                case _:
                    continue


def _count(answer: _Pending, usage: Mapping[str, Any] | None, parts: Any) -> None:
    for part in parts:
        if isinstance(count := (usage or {}).get(part), int):
            answer.usage[part] = count
