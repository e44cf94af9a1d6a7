"""A scripted Anthropic Messages API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aiohttp import web

from holodeck_backend_claude.testing.answers import (
    Answer,
    Failure,
    Part,
    Reply,
    Text,
    Thinking,
    ToolUse,
    Usage,
)
from holodeck_backend_claude.testing.delivery import Frame
from holodeck_backend_claude.testing.request import (
    ModelRequest,
    RequestedCall,
    RequestedResult,
    RequestMessage,
    RequestTool,
    conversation,
    joined_text,
)
from holodeck_backend_claude.testing.script import say
from holodeck_backend_claude.testing.server import ScriptedServer, new_id

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_SIGNATURE = "c2NyaXB0ZWQ="
_STREAMED: dict[type[Part], tuple[str, str, dict[str, Any]]] = {
    Text: ("text_delta", "text", {"text": ""}),
    Thinking: ("thinking_delta", "thinking", {"thinking": "", "signature": ""}),
    ToolUse: ("input_json_delta", "partial_json", {"input": {}}),
}
"""For each part: the type of its deltas, their key, and what the block is opened with."""


_ADDED = re.compile(
    r"(?:\s*(?:<system-reminder>(?:(?!</system-reminder>).)*</system-reminder>"
    r"|\[Request interrupted by user[^\]\n]*\]|\[Image: source: [^\]\n]*\]))+\s*",
    re.DOTALL,
)
"""What Claude Code puts into blocks of its own beside the user's text."""


class ScriptedMessagesAPI(ScriptedServer):
    """The Messages API, answering from a script.

    Example:
        ``async with ScriptedMessagesAPI([call_tool("kb_search"), say("done")]) as api: ...``
    """

    model_path = "/v1/messages"

    def env(self) -> dict[str, str]:
        """The environment variables that point a client, such as Claude Code, at this server."""
        return {
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "scripted-no-key",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }

    def parse(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> ModelRequest:
        """The neutral view of a Messages API request."""
        return ModelRequest(
            model=str(body.get("model", "")),
            system=joined_text(body.get("system", "")),
            messages=conversation(m for raw in body.get("messages") or () for m in _messages(raw)),
            tools=tuple(
                RequestTool(t.get("name", ""), t.get("description", ""), t.get("input_schema", {}))
                for t in body.get("tools") or ()
                if "name" in t
            ),
            stream=bool(body.get("stream")),
            headers=headers,
            body=body,
        )

    def frames(self, answer: Reply, request: ModelRequest) -> Iterator[Frame]:
        """The answer as server-sent events."""
        usage = {**_usage(answer.usage), "output_tokens": 1}
        empty = {**self.document(Reply(), request), "stop_reason": None, "usage": usage}
        yield _event("message_start", message=empty)
        yield _event("ping")
        for index, part in enumerate(answer.parts):
            yield from _block_frames(index, part, request)
        delta = {"stop_reason": answer.stopped_by, "stop_sequence": None}
        yield _event("message_delta", delta=delta, usage=_usage(answer.usage))
        yield _event("message_stop")

    def document(self, answer: Reply, request: ModelRequest) -> dict[str, Any]:
        """The answer as one message."""
        return {
            "id": new_id("msg_"),
            "type": "message",
            "role": "assistant",
            "model": request.model,
            "content": [_block(part, request) for part in answer.parts],
            "stop_reason": answer.stopped_by,
            "stop_sequence": None,
            "usage": _usage(answer.usage),
        }

    def error_body(self, failure: Failure) -> dict[str, Any]:
        """The JSON body of an error."""
        kind = failure.error_type or _ERROR_TYPES.get(
            failure.status, "api_error" if failure.status >= 500 else "invalid_request_error"
        )
        return {"type": "error", "error": {"type": kind, "message": failure.message}}

    def error_frame(self, failure: Failure) -> bytes:
        """An ``error`` event."""
        return _sse("error", self.error_body(failure))

    def side_answer(self, request: ModelRequest) -> Answer | None:
        """A title, where Claude Code asks for one of its session; it does so for every message."""
        wanted = (request.body.get("output_config") or {}).get("format") or {}
        properties = wanted.get("schema", {}).get("properties", ())
        session = request.last_user_text.startswith("<session>")
        if request.tools or not session or list(properties) != ["title"]:
            return None
        return say('{"title": "Scripted session"}')

    def other_routes(self) -> Sequence[web.RouteDef]:
        """The endpoints that Claude Code asks beside the model's."""
        return [
            web.head("/{path:.*}", self._reachable),
            web.post("/v1/messages/count_tokens", self._count_tokens),
            web.get("/v1/models", self._models),
        ]

    async def _reachable(self, _http: web.Request) -> web.Response:
        return web.Response()

    async def _count_tokens(self, http: web.Request) -> web.Response:
        return web.json_response({"input_tokens": max(1, len(await http.read()) // 4)})

    async def _models(self, _http: web.Request) -> web.Response:
        model = {"type": "model", "id": "scripted", "display_name": "Scripted"}
        ends = {"first_id": "scripted", "last_id": "scripted", "has_more": False}
        return web.json_response({"data": [model], **ends})


def _block(part: Part, request: ModelRequest) -> dict[str, Any]:
    """A content block."""
    match part:
        case Text():
            return {"type": "text", "text": "".join(part.pieces)}
        case Thinking():
            thought = "".join(part.pieces)
            return {"type": "thinking", "thinking": thought, "signature": _SIGNATURE}
        case ToolUse():
            call_id = part.call_id or new_id("toolu_")
            name = request.wire_name(part.name)
            return {"type": "tool_use", "id": call_id, "name": name, "input": part.arguments}


def _block_frames(index: int, part: Part, request: ModelRequest) -> Iterator[Frame]:
    """A content block as it is streamed: opened empty, filled piece by piece, closed."""
    kind, key, empty = _STREAMED[type(part)]
    block = {**_block(part, request), **empty}
    yield _event("content_block_start", index=index, content_block=block)
    if isinstance(part, ToolUse):
        yield _event("content_block_delta", index=index, delta={"type": kind, key: ""})
    for piece in part.pieces:
        yield _event("content_block_delta", True, index=index, delta={"type": kind, key: piece})
    if isinstance(part, Thinking):
        delta = {"type": "signature_delta", "signature": _SIGNATURE}
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_creation,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    }


def _event(kind: str, piece: bool = False, /, **fields: Any) -> Frame:
    return Frame(_sse(kind, {"type": kind, **fields}), piece)


def _sse(kind: str, data: Mapping[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()


def _messages(raw: Mapping[str, Any]) -> Iterator[RequestMessage]:
    """A message as it came; tool results beside a user's text become a message of their own."""
    content = raw.get("content", "")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    results = tuple(_result(block) for block in blocks if block.get("type") == "tool_result")
    calls = tuple(
        RequestedCall(block.get("id", ""), block.get("name", ""), block.get("input"))
        for block in blocks
        if block.get("type") == "tool_use"
    )
    if results:
        yield RequestMessage("tool", tool_results=results)
    text = joined_text([b for b in blocks if not _ADDED.fullmatch(str(b.get("text", "")))])
    if text or calls or not results:
        yield RequestMessage(raw["role"], text, calls)


def _result(block: Mapping[str, Any]) -> RequestedResult:
    text = joined_text(block.get("content", ""))
    # Claude Code appends its reminders to the last result, too.
    while text.rstrip().endswith("</system-reminder>") and "<system-reminder>" in text:
        text = text[: text.rindex("<system-reminder>")].rstrip()
    return RequestedResult(block.get("tool_use_id", ""), text, bool(block.get("is_error")))
