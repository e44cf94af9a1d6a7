"""What the real APIs refuse with status 400, so that a scripted one does not let it pass."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from holodeck_backend_claude.testing.request import ModelRequest, RequestMessage, RequestTool

_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def refusal(request: ModelRequest) -> str | None:
    """Why a real API would refuse the request, or None."""
    return next(_faults(request), None)


def _faults(request: ModelRequest) -> Iterator[str]:
    if not request.model:
        yield "model: missing"
    if not request.messages:
        yield "messages: at least one message is required"
    for tool in request.tools:
        yield from _tool_faults(tool)
    for name, count in Counter(tool.name for tool in request.tools).items():
        if count > 1:
            yield f"tools: the name {name!r} is used {count} times"
    following = [*request.messages[1:], None]
    for position, (message, after) in enumerate(zip(request.messages, following, strict=True)):
        yield from (f"messages.{position}: {fault}" for fault in _call_faults(message, after))
    if request.messages and request.messages[0].role == "tool":
        yield "messages.0: tool results without the tool calls they belong to"


def _tool_faults(tool: RequestTool) -> Iterator[str]:
    if not _TOOL_NAME.fullmatch(tool.name):
        yield f"tools: the name {tool.name!r} does not match ^[a-zA-Z0-9_-]{{1,64}}$"
    schema = tool.input_schema
    if schema.get("type", "object") != "object":
        yield f"tools: the schema of {tool.name!r} is not of type object"
    for keyword in ("anyOf", "oneOf", "allOf"):
        if keyword in schema:
            yield f"tools: the schema of {tool.name!r} has {keyword} at its root"


def _call_faults(message: RequestMessage, after: RequestMessage | None) -> Iterator[str]:
    """Faults between the tool calls of a message and the results that follow it."""
    called = Counter(call.call_id for call in message.tool_calls)
    answered = Counter(result.call_id for result in after.tool_results) if after else Counter()
    if lost := called - answered:
        yield f"tool calls without a result right after them: {', '.join(lost)}"
    if strange := answered - called:
        yield f"tool results without a call right before them: {', '.join(strange)}"
