"""A scripted OpenAI-compatible API: chat completions and embeddings."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from aiohttp import web

from holodeck_backend_claude.testing.embeddings import EmbeddingRequest, hashed_words
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
    Failure,
    Part,
    Reply,
    Script,
    Text,
    Thinking,
    ToolUse,
    Usage,
    split,
)
from holodeck_backend_claude.testing.server import Frame, ScriptedServer, lower_names

_FINISH = {"tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}
_ERROR_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class ScriptedOpenAIAPI(ScriptedServer):
    """An OpenAI-compatible API, answering from a script.

    Args:
        script: What the chat model says; None where only embeddings are asked for.
        embeddings: ``embeddings(text)`` gives the vector of a text.

    Attributes:
        embedding_requests: The calls of ``/v1/embeddings``, in their order.
    """

    model_path = "/v1/chat/completions"

    def __init__(
        self, script: Script = (), *, embeddings: Callable[[str], list[float]] = hashed_words
    ) -> None:
        super().__init__(script)
        self.embeddings = embeddings
        self.embedding_requests: list[EmbeddingRequest] = []

    @property
    def base_url(self) -> str:
        """The address as an ``openai`` client takes it, with ``/v1``."""
        return f"{self.url}/v1"

    def env(self) -> dict[str, str]:
        """The environment variables that point an ``openai`` client at this server."""
        return {
            "OPENAI_BASE_URL": self.base_url,
            "OPENAI_API_KEY": "scripted-no-key",
            "NO_PROXY": "127.0.0.1",
        }

    def clear_records(self) -> None:
        """Forget what was recorded; done at each start."""
        super().clear_records()
        self.embedding_requests = []

    def parse(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> ModelRequest:
        """The neutral view of a chat completions request."""
        raw = body.get("messages", ())
        prompts = [m for m in raw if m.get("role") in {"system", "developer"}]
        return ModelRequest(
            model=str(body.get("model", "")),
            system="\n".join(joined_text(message.get("content")) for message in prompts),
            messages=with_names(_messages(m for m in raw if m not in prompts)),
            tools=tuple(_tool(t["function"]) for t in body.get("tools", ()) if "function" in t),
            stream=bool(body.get("stream")),
            headers=headers,
            body=body,
        )

    def frames(self, answer: Reply, request: ModelRequest) -> Iterator[Frame]:
        """The answer as chunks."""
        head = {**self._head(request), "object": "chat.completion.chunk"}

        def chunk(
            delta: Mapping[str, Any], *, end: str | None = None, piece: bool = False
        ) -> Frame:
            choice = {"index": 0, "delta": delta, "finish_reason": end, "logprobs": None}
            return Frame(_sse({**head, "choices": [choice]}), piece)

        yield chunk({"role": "assistant", "content": None if _silent(answer) else ""})
        calls = -1
        for part in answer.parts:
            calls += isinstance(part, ToolUse)
            yield from (
                chunk(d, piece=is_piece) for d, is_piece in self._deltas(part, request, calls)
            )
        yield chunk({}, end=_finish(answer))
        if (request.body.get("stream_options") or {}).get("include_usage"):
            yield Frame(_sse({**head, "choices": [], "usage": _usage(answer.usage)}))
        yield Frame(b"data: [DONE]\n\n")

    def whole(self, answer: Reply, request: ModelRequest) -> dict[str, Any]:
        """The answer as one chat completion."""
        said = "".join(part.text for part in answer.parts if isinstance(part, Text))
        thought = "".join(part.text for part in answer.parts if isinstance(part, Thinking))
        calls = [
            self._call(part, request, part.raw_arguments)
            for part in answer.parts
            if isinstance(part, ToolUse)
        ]
        message = {
            "role": "assistant",
            "content": None if _silent(answer) else said,
            "refusal": None,
            **({"reasoning_content": thought} if thought else {}),
            **({"tool_calls": calls} if calls else {}),
        }
        choice = {"index": 0, "message": message, "finish_reason": _finish(answer)}
        return {
            **self._head(request),
            "object": "chat.completion",
            "choices": [{**choice, "logprobs": None}],
            "usage": _usage(answer.usage),
        }

    def error_body(self, failure: Failure) -> dict[str, Any]:
        """The JSON body of an error."""
        kind = failure.error_type or _ERROR_TYPES.get(
            failure.status, "server_error" if failure.status >= 500 else "invalid_request_error"
        )
        error = {"message": failure.message, "type": kind, "param": None, "code": None}
        return {"error": error}

    def error_frame(self, failure: Failure) -> bytes:
        """An error in place of a chunk."""
        return _sse(self.error_body(failure))

    def other_routes(self) -> Sequence[web.RouteDef]:
        """Embeddings and the list of models."""
        return [web.post("/v1/embeddings", self._embed), web.get("/v1/models", self._models)]

    async def _models(self, _http: web.Request) -> web.Response:
        model = {"id": "scripted", "object": "model", "created": 0, "owned_by": "scripted"}
        return web.json_response({"object": "list", "data": [model]})

    async def _embed(self, http: web.Request) -> web.Response:
        asked = EmbeddingRequest.parse(await http.json(), lower_names(http.headers))
        self.embedding_requests.append(asked)
        return web.json_response(asked.answer([self.embeddings(text) for text in asked.texts]))

    def _head(self, request: ModelRequest) -> dict[str, Any]:
        return {"id": self.next_id("chatcmpl-"), "created": 0, "model": request.model}

    def _deltas(
        self, part: Part, request: ModelRequest, index: int
    ) -> Iterator[tuple[dict[str, Any], bool]]:
        """The deltas of a part, and whether each one is a piece."""
        match part:
            case Text():
                yield from (({"content": piece}, bool(piece)) for piece in part.chunks)
            case Thinking():
                yield from (({"reasoning_content": piece}, bool(piece)) for piece in part.chunks)
            case ToolUse():
                call = self._call(part, request, "")
                yield {"tool_calls": [{"index": index, **call}]}, False
                for piece in split(part.raw_arguments):
                    function = {"arguments": piece}
                    yield {"tool_calls": [{"index": index, "function": function}]}, bool(piece)

    def _call(self, part: ToolUse, request: ModelRequest, arguments: str) -> dict[str, Any]:
        function = {"name": request.wire_name(part.name), "arguments": arguments}
        call_id = part.call_id or self.next_id("call_")
        return {"id": call_id, "type": "function", "function": function}


def _silent(answer: Reply) -> bool:
    return not any(isinstance(part, Text) for part in answer.parts)


def _finish(answer: Reply) -> str:
    return _FINISH.get(answer.stopped_by, "stop")


def _usage(usage: Usage) -> dict[str, Any]:
    prompt = usage.input + usage.cache_read + usage.cache_creation
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    }


def _sse(data: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def _tool(function: Mapping[str, Any]) -> RequestTool:
    return RequestTool(
        function.get("name", ""), function.get("description", ""), function.get("parameters", {})
    )


def _messages(raw: Iterable[Mapping[str, Any]]) -> Iterator[RequestMessage]:
    """The messages; results that follow each other are one message, as in the Messages API."""
    results: list[RequestedResult] = []
    for message in raw:
        text = joined_text(message.get("content"))
        if message.get("role") == "tool":
            results.append(RequestedResult(message.get("tool_call_id", ""), text))
            continue
        if results:
            yield RequestMessage("tool", tool_results=tuple(results))
            results = []
        calls = tuple(_requested(call) for call in message.get("tool_calls") or ())
        yield RequestMessage("assistant" if calls else message["role"], text, calls)
    if results:
        yield RequestMessage("tool", tool_results=tuple(results))


def _requested(call: Mapping[str, Any]) -> RequestedCall:
    function = call.get("function", {})
    arguments: Any = function.get("arguments", "")
    with contextlib.suppress(ValueError):  # the client repeats what the model wrote, JSON or not
        arguments = json.loads(arguments)
    return RequestedCall(call.get("id", ""), function.get("name", ""), arguments)
