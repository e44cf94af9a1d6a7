"""A scripted Anthropic Messages API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aiohttp import web

from holodeck_backend_claude.testing.request import (
    ModelRequest,
    RequestedCall,
    RequestedResult,
    RequestMessage,
    RequestTool,
    joined_text,
    with_names,
)
from holodeck_backend_claude.testing.script import (
    Answer,
    Failure,
    Part,
    Reply,
    Text,
    Thinking,
    ToolUse,
    Usage,
    say,
    split,
)
from holodeck_backend_claude.testing.server import Frame, ScriptedServer

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


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
        }

    def parse(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> ModelRequest:
        """The neutral view of a Messages API request."""
        return ModelRequest(
            model=str(body.get("model", "")),
            system=joined_text(body.get("system", "")),
            messages=with_names(m for raw in body.get("messages", ()) for m in _messages(raw)),
            tools=tuple(
                RequestTool(t.get("name", ""), t.get("description", ""), t.get("input_schema", {}))
                for t in body.get("tools", ())
            ),
            stream=bool(body.get("stream")),
            headers=headers,
            body=body,
        )

    def frames(self, answer: Reply, request: ModelRequest) -> Iterator[Frame]:
        """The answer as server-sent events."""
        start = {**self._message(answer, request), "content": [], "stop_reason": None}
        start["usage"] = {**start["usage"], "output_tokens": 1}
        yield _event("message_start", message=start)
        yield _event("ping")
        for index, part in enumerate(answer.parts):
            block, deltas = self._block(part, request)
            yield _event("content_block_start", index=index, content_block=block)
            for delta in deltas:
                carries = delta["type"] != "signature_delta" and any(list(delta.values())[1:])
                yield _event("content_block_delta", piece=carries, index=index, delta=delta)
            yield _event("content_block_stop", index=index)
        delta = {"stop_reason": answer.stopped_by, "stop_sequence": None}
        yield _event("message_delta", delta=delta, usage=_usage(answer.usage))
        yield _event("message_stop")

    def whole(self, answer: Reply, request: ModelRequest) -> dict[str, Any]:
        """The answer as one message."""
        return self._message(answer, request)

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
        titled = request.body.get("output_config", {}).get("format", {}).get("schema", {})
        if request.tools or list(titled.get("properties", ())) != ["title"]:
            return None
        if not request.last_user_text.startswith("<session>"):
            return None
        return say('{"title": "Scripted session"}')

    def other_routes(self) -> Sequence[web.RouteDef]:
        """The endpoints that Claude Code asks beside the model's."""
        return [
            web.head("/", self._root),
            web.post("/v1/messages/count_tokens", self._count_tokens),
            web.get("/v1/models", self._models),
        ]

    async def _root(self, _http: web.Request) -> web.Response:
        return web.Response()

    async def _count_tokens(self, http: web.Request) -> web.Response:
        return web.json_response({"input_tokens": max(1, len(await http.read()) // 4)})

    async def _models(self, _http: web.Request) -> web.Response:
        return web.json_response({"data": [], "has_more": False, "first_id": None, "last_id": None})

    def _message(self, answer: Reply, request: ModelRequest) -> dict[str, Any]:
        return {
            "id": self.next_id("msg_"),
            "type": "message",
            "role": "assistant",
            "model": request.model,
            "content": [self._content(part, request) for part in answer.parts],
            "stop_reason": answer.stopped_by,
            "stop_sequence": None,
            "usage": _usage(answer.usage),
        }

    def _content(self, part: Part, request: ModelRequest) -> dict[str, Any]:
        match part:
            case Text():
                return {"type": "text", "text": part.text}
            case Thinking():
                return {"type": "thinking", "thinking": part.text, "signature": _SIGNATURE}
            case ToolUse():
                return {**self._tool_use(part, request), "input": part.arguments}

    def _block(
        self, part: Part, request: ModelRequest
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The block that opens a part, and the deltas that fill it."""
        match part:
            case Text():
                deltas = [{"type": "text_delta", "text": piece} for piece in part.chunks]
                return {"type": "text", "text": ""}, deltas
            case Thinking():
                deltas = [{"type": "thinking_delta", "thinking": piece} for piece in part.chunks]
                deltas.append({"type": "signature_delta", "signature": _SIGNATURE})
                return {"type": "thinking", "thinking": "", "signature": ""}, deltas
            case ToolUse():
                pieces = ("", *split(part.raw_arguments))
                deltas = [{"type": "input_json_delta", "partial_json": p} for p in pieces]
                return self._tool_use(part, request), deltas

    def _tool_use(self, part: ToolUse, request: ModelRequest) -> dict[str, Any]:
        return {
            "type": "tool_use",
            "id": part.call_id or self.next_id("toolu_"),
            "name": request.wire_name(part.name),
            "input": {},
        }


_SIGNATURE = "c2NyaXB0ZWQ="


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_creation,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    }


def _event(kind: str, *, piece: bool = False, **fields: Any) -> Frame:
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
    text = joined_text([b for b in blocks if not _REMINDER.fullmatch(str(b.get("text", "")))])
    if text or calls:
        yield RequestMessage(raw["role"], text, calls)


def _result(block: Mapping[str, Any]) -> RequestedResult:
    text = joined_text(block.get("content", ""))
    while text.rstrip().endswith("</system-reminder>") and "<system-reminder>" in text:
        text = text[: text.rindex("<system-reminder>")].rstrip()
    return RequestedResult(block.get("tool_use_id", ""), text, bool(block.get("is_error")))


# Claude Code puts blocks of its own before the user's text and after the last tool result.
_REMINDER = re.compile(r"\s*<system-reminder>.*</system-reminder>\s*", re.DOTALL)
