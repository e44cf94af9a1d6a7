"""A scripted OpenAI-compatible API: chat completions and embeddings."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from aiohttp import web

from holodeck_backend_claude.testing.answers import Failure, Reply, Text, Thinking, ToolUse, Usage
from holodeck_backend_claude.testing.delivery import Frame
from holodeck_backend_claude.testing.embeddings import EmbeddingRequest, hashed_words
from holodeck_backend_claude.testing.request import (
    ModelRequest,
    RequestedCall,
    RequestedResult,
    RequestMessage,
    RequestTool,
    conversation,
    joined_text,
)
from holodeck_backend_claude.testing.script import Script
from holodeck_backend_claude.testing.server import ScriptedServer, lower_names, new_id

_FINISH = {"tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}
_ERROR_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class ScriptedOpenAIAPI(ScriptedServer):
    """An OpenAI-compatible API, answering from a script.

    Args:
        script: What the chat model says; may be left out where only embeddings are asked for.
        embeddings: ``embeddings(text)`` gives the vector of a text, or ``fail(...)``.
        strict: Refuse requests that a real API refuses.

    Attributes:
        embedding_requests: The calls of ``/v1/embeddings``, in their order.
    """

    model_path = "/v1/chat/completions"

    def __init__(
        self,
        script: Script = (),
        *,
        embeddings: Callable[[str], list[float] | Failure] = hashed_words,
        strict: bool = True,
    ) -> None:
        super().__init__(script, strict=strict)
        self._embeddings = embeddings

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
            "no_proxy": "127.0.0.1",
        }

    def clear_records(self) -> None:
        """Forget what was recorded; done at each start."""
        super().clear_records()
        self.embedding_requests: list[EmbeddingRequest] = []

    def parse(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> ModelRequest:
        """The neutral view of a chat completions request."""
        raw = body.get("messages") or ()
        prompts = [m for m in raw if m.get("role") in {"system", "developer"}]
        return ModelRequest(
            model=str(body.get("model", "")),
            system="\n".join(joined_text(message.get("content")) for message in prompts),
            messages=conversation(_message(m) for m in raw if m not in prompts),
            tools=tuple(_tool(t["function"]) for t in body.get("tools") or () if "function" in t),
            stream=bool(body.get("stream")),
            headers=headers,
            body=body,
        )

    def frames(self, answer: Reply, request: ModelRequest) -> Iterator[Frame]:
        """The answer as chunks."""
        head = {**_head(request), "object": "chat.completion.chunk"}
        for delta, end, piece in _deltas(answer, request):
            choice = {"index": 0, "delta": delta, "finish_reason": end, "logprobs": None}
            yield Frame(_sse({**head, "choices": [choice]}), piece)
        if (request.body.get("stream_options") or {}).get("include_usage"):
            yield Frame(_sse({**head, "choices": [], "usage": _usage(answer.usage)}))
        yield Frame(b"data: [DONE]\n\n")

    def document(self, answer: Reply, request: ModelRequest) -> dict[str, Any]:
        """The answer as one chat completion."""
        thought = _joined(answer, Thinking)
        calls = [
            _call(part, request, "".join(part.pieces))
            for part in answer.parts
            if isinstance(part, ToolUse)
        ]
        message = {
            "role": "assistant",
            "content": _joined(answer, Text) or (None if calls else ""),
            "refusal": None,
            **({"reasoning_content": thought} if thought else {}),
            **({"tool_calls": calls} if calls else {}),
        }
        choice = {"index": 0, "message": message, "finish_reason": _finish(answer)}
        return {
            **_head(request),
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
        body = await self.read(http)
        if isinstance(body, Failure):
            return self.error(body)
        asked = EmbeddingRequest.parse(body, lower_names(http.headers))
        self.embedding_requests.append(asked)
        vectors = []
        for text in asked.texts:
            vector = self._vector(text)
            if isinstance(vector, Failure):
                return self.error(vector)
            vectors.append(vector)
        return web.json_response(asked.answer(vectors))

    def _vector(self, text: str) -> list[float] | Failure:
        try:
            return self._embeddings(text)
        except Exception as cause:  # noqa: BLE001  # the function is the user's; its error is shown
            kind = type(cause).__name__
            return self.script_error(f"the embeddings function raised {kind}: {cause}")


def _deltas(
    answer: Reply, request: ModelRequest
) -> Iterator[tuple[dict[str, Any], str | None, bool]]:
    """Each delta, its finish reason, and whether it is a piece of the answer."""
    yield {"role": "assistant", "content": ""}, None, False
    calls = 0
    for part in answer.parts:
        if isinstance(part, ToolUse):
            yield {"tool_calls": [{"index": calls, **_call(part, request, "")}]}, None, False
            for piece in part.pieces:
                function = {"arguments": piece}
                yield {"tool_calls": [{"index": calls, "function": function}]}, None, True
            calls += 1
            continue
        key = "content" if isinstance(part, Text) else "reasoning_content"
        for piece in part.pieces:
            yield {key: piece}, None, True
    yield {}, _finish(answer), False


def _head(request: ModelRequest) -> dict[str, Any]:
    return {"id": new_id("chatcmpl-"), "created": int(time.time()), "model": request.model}


def _call(part: ToolUse, request: ModelRequest, arguments: str) -> dict[str, Any]:
    function = {"name": request.wire_name(part.name), "arguments": arguments}
    return {"id": part.call_id or new_id("call_"), "type": "function", "function": function}


def _joined(answer: Reply, kind: type[Text | Thinking]) -> str:
    return "".join(
        piece for part in answer.parts if isinstance(part, kind) for piece in part.pieces
    )


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


def _message(raw: Mapping[str, Any]) -> RequestMessage:
    text = joined_text(raw.get("content"))
    if raw["role"] == "tool":
        result = RequestedResult(raw.get("tool_call_id", ""), text)
        return RequestMessage("tool", tool_results=(result,))
    calls = tuple(_requested(call) for call in raw.get("tool_calls") or ())
    return RequestMessage(raw["role"], text, calls)


def _requested(call: Mapping[str, Any]) -> RequestedCall:
    function = call.get("function", {})
    arguments: Any = function.get("arguments", "")
    with contextlib.suppress(ValueError):  # the client repeats what the model wrote, JSON or not
        arguments = json.loads(arguments)
    return RequestedCall(call.get("id", ""), function.get("name", ""), arguments)
