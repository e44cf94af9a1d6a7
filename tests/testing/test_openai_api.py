"""The scripted OpenAI-compatible API serves the real openai client."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import struct
from typing import Any, cast

import httpx
import openai
import pytest
from openai.types.chat import ChatCompletionChunk

from holodeck_backend_claude.testing import (
    Reply,
    Script,
    ScriptedMessagesAPI,
    ScriptedOpenAIAPI,
    Usage,
    call_tool,
    cut,
    fail,
    forever,
    hang,
    hashed_words,
    reply,
    say,
)
from holodeck_backend_claude.testing.answers import Failure

TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "kb_search",
            "description": "Search kb",
            "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
        },
    }
]
HELLO: Any = [{"role": "user", "content": "Hello?"}]


def client(api: ScriptedOpenAIAPI, *, retries: int = 0) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=api.base_url, api_key="dummy", max_retries=retries)


async def streamed(script: Script, **extra: Any) -> list[ChatCompletionChunk]:
    async with ScriptedOpenAIAPI(script) as api, client(api) as ai:
        stream = await ai.chat.completions.create(
            model="m", messages=HELLO, tools=TOOLS, stream=True, **extra
        )
        return [chunk async for chunk in stream]


async def test_a_streamed_text_comes_in_its_pieces() -> None:
    chunks = await streamed(say("Hello world", chunks=["Hello ", "world"]))
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert deltas[0].role == "assistant"
    assert [delta.content for delta in deltas if delta.content] == ["Hello ", "world"]
    assert [c.choices[0].finish_reason for c in chunks if c.choices[0].finish_reason] == ["stop"]
    assert len({chunk.id for chunk in chunks}) == 1
    assert all(chunk.usage is None for chunk in chunks)


async def test_the_usage_comes_on_the_last_chunk_where_it_was_asked_for() -> None:
    usage = Usage(input=7, output=3, cache_read=20, cache_creation=4)
    answer = say("a", usage=usage)
    *_, last = await streamed(answer, stream_options={"include_usage": True})
    assert last.choices == []
    assert last.usage is not None
    assert last.usage.prompt_tokens == 31
    assert (last.usage.completion_tokens, last.usage.total_tokens) == (3, 34)
    assert last.usage.prompt_tokens_details is not None
    assert last.usage.prompt_tokens_details.cached_tokens == 20


async def test_streamed_tool_calls_come_in_pieces_each_with_its_index() -> None:
    answer = reply(
        say("I look."),
        call_tool("kb_search", {"query": "refund policy"}, call_id="call_1"),
        call_tool("kb_search", "{not json"),
    )
    chunks = await streamed(answer)
    deltas = [call for c in chunks for call in c.choices[0].delta.tool_calls or ()]
    opened = [(call.index, call.function.name) for call in deltas if call.id and call.function]
    assert opened == [(0, "kb_search"), (1, "kb_search")]
    assert deltas[0].id == "call_1"
    written = {
        index: [d.function.arguments or "" for d in deltas if d.index == index and d.function]
        for index in (0, 1)
    }
    assert json.loads("".join(written[0])) == {"query": "refund policy"}
    assert len(written[0]) > 2
    assert "".join(written[1]) == "{not json"
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


async def test_an_answer_without_streaming_is_one_completion() -> None:
    answer = reply(
        say("I look.", thinking="Hm"), call_tool("kb_search", {"query": "a"}), usage=Usage(1, 2)
    )
    async with ScriptedOpenAIAPI(answer) as api, client(api) as ai:
        done = await ai.chat.completions.create(model="m", messages=HELLO, tools=TOOLS)
    (choice,) = done.choices
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", "I look.")
    assert choice.message.tool_calls is not None
    (call,) = choice.message.tool_calls
    assert call.type == "function"
    assert (call.function.name, call.function.arguments) == ("kb_search", '{"query": "a"}')
    assert done.usage is not None
    assert done.usage.total_tokens == 3
    assert (choice.message.model_extra or {})["reasoning_content"] == "Hm"


@pytest.mark.parametrize(
    ("stop_reason", "finish"),
    [
        ("max_tokens", "length"),
        ("refusal", "content_filter"),
        ("stop_sequence", "stop"),
    ],
)
async def test_stop_reasons_are_named_as_openai_names_them(stop_reason: str, finish: str) -> None:
    async with ScriptedOpenAIAPI(say("a", stop_reason=stop_reason)) as api, client(api) as ai:
        done = await ai.chat.completions.create(model="m", messages=HELLO)
    assert done.choices[0].finish_reason == finish


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (403, openai.PermissionDeniedError),
        (404, openai.NotFoundError),
        (413, openai.APIStatusError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (529, openai.InternalServerError),
    ],
)
async def test_a_failure_is_raised_by_the_client(
    status: int, error: type[openai.APIStatusError]
) -> None:
    async with ScriptedOpenAIAPI(fail(status, "no luck")) as api, client(api) as ai:
        with pytest.raises(error, match="no luck") as raised:
            await ai.chat.completions.create(model="m", messages=HELLO)
    assert raised.value.status_code == status


async def test_the_clients_own_retry_takes_the_next_step() -> None:
    script = [fail(429, retry_after=0.01), fail(500, retry_after=0.01), say("at last")]
    async with ScriptedOpenAIAPI(script) as api, client(api, retries=2) as ai:
        done = await ai.chat.completions.create(model="m", messages=HELLO)
        assert done.choices[0].message.content == "at last"
        assert len(api.requests) == 3


async def test_a_cut_stream_breaks_in_the_client() -> None:
    with pytest.raises((httpx.RemoteProtocolError, openai.APIConnectionError)):
        await streamed(cut(say("ab", chunks=["a", "b"]), after_pieces=1))


async def test_an_error_in_the_middle_of_a_stream_is_raised_by_the_client() -> None:
    answer = cut(say("ab", chunks=["a", "b"]), after_pieces=1, error=fail(500, "broken inside"))
    with pytest.raises(openai.APIError, match="broken inside"):
        await streamed(answer)


async def test_a_hanging_answer_ends_with_the_server() -> None:
    api = ScriptedOpenAIAPI(hang())
    async with api:
        ai = client(api)
        asked = asyncio.ensure_future(ai.chat.completions.create(model="m", messages=HELLO))
        await api.wait_for_requests(1)
    with pytest.raises(openai.APIConnectionError):
        await asked
    await ai.close()


async def test_both_apis_show_a_conversation_in_the_same_neutral_form() -> None:
    calls = [
        {"id": i, "type": "function", "function": {"name": "kb_search", "arguments": arguments}}
        for i, arguments in (("c1", '{"query": "a"}'), ("c2", '{"query": "b"}'))
    ]
    history: Any = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "First?"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": "found a"},
        {"role": "tool", "tool_call_id": "c2", "content": "found b"},
        {"role": "assistant", "content": "Answer."},
        {"role": "user", "content": [{"type": "text", "text": "Second?"}]},
    ]
    blocks = [
        {"type": "tool_use", "id": i, "name": "kb_search", "input": {"query": q}}
        for i, q in (("c1", "a"), ("c2", "b"))
    ]
    results = [
        {"type": "tool_result", "tool_use_id": i, "content": text}
        for i, text in (("c1", "found a"), ("c2", "found b"))
    ]
    function = TOOLS[0]["function"]
    body = {
        "model": "m",
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "First?"},
            {"role": "assistant", "content": blocks},
            {"role": "user", "content": results},
            {"role": "assistant", "content": "Answer."},
            {"role": "user", "content": "Second?"},
        ],
        "tools": [
            {
                "name": "kb_search",
                "description": "Search kb",
                "input_schema": function["parameters"],
            }
        ],
    }
    async with ScriptedOpenAIAPI(say("ok")) as open_ai, client(open_ai) as ai:
        await ai.chat.completions.create(model="m", messages=history, tools=TOOLS)
    async with ScriptedMessagesAPI(say("ok")) as messages_api, httpx.AsyncClient() as http:
        await http.post(f"{messages_api.url}/v1/messages", json=body)
    (one,), (other,) = open_ai.requests, messages_api.requests
    for field in ("model", "system", "messages", "tools", "stream", "last_user_text"):
        assert getattr(one, field) == getattr(other, field), field


async def test_arguments_that_are_not_json_are_seen_as_the_text_they_are() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "a", "arguments": "{no"}}
    history: Any = [
        *HELLO,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "bad arguments"},
    ]
    async with ScriptedOpenAIAPI(say("ok")) as api, client(api) as ai:
        await ai.chat.completions.create(model="m", messages=history)
        (request,) = api.requests
    assert request.messages[1].tool_calls[0].arguments == "{no"
    assert [(r.name, r.text) for r in request.tool_results] == [("a", "bad arguments")]


async def test_models_are_listed_and_other_paths_are_not_found() -> None:
    async with ScriptedOpenAIAPI() as api, client(api) as ai:
        assert [model.id async for model in await ai.models.list()] == ["scripted"]
        with pytest.raises(openai.NotFoundError, match="POST /v1/responses is not scripted"):
            await ai.responses.create(model="m", input="a")
        assert api.env()["OPENAI_BASE_URL"] == f"{api.url}/v1"


# ------------------------------------------------------------------------------------- embeddings


def cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


async def vectors(texts: str | list[str], **extra: Any) -> list[list[float]]:
    async with ScriptedOpenAIAPI() as api, client(api) as ai:
        answer = await ai.embeddings.create(model="e", input=texts, **extra)
    assert [item.index for item in answer.data] == list(range(len(answer.data)))
    return [item.embedding for item in answer.data]


@pytest.mark.parametrize("dimensions", [None, 2_000, 64])
async def test_similar_texts_have_similar_vectors(dimensions: int | None) -> None:
    texts = ["refund of a purchase", "How do I get a refund for my purchase?", "Opening hours"]
    extra = {} if dimensions is None else {"dimensions": dimensions}
    refund, question, hours = await vectors(texts, **extra)
    assert cosine(refund, question) > cosine(hours, question) + 0.1
    assert {len(refund), len(question), len(hours)} == {dimensions or 1_536}
    assert math.isclose(math.hypot(*refund), 1.0, rel_tol=1e-5)


async def test_float_and_base64_carry_the_same_numbers() -> None:
    (as_float,) = await vectors("some words", encoding_format="float")
    (as_base64,) = await vectors("some words", encoding_format="base64", dimensions=1_536)
    (by_default,) = await vectors("some words")
    packed = base64.b64decode(cast("str", as_base64))
    assert list(struct.unpack("<1536f", packed)) == pytest.approx(as_float, abs=1e-6)
    assert by_default == pytest.approx(as_float, abs=1e-6), "the client's default is base64"
    assert as_float == pytest.approx(hashed_words("some words"))


@pytest.mark.parametrize("text", ["", "   ", "?!", "🎉", "\ud800"])
def test_a_text_without_words_has_a_vector_of_length_one_too(text: str) -> None:
    assert math.isclose(math.hypot(*hashed_words(text)), 1.0)


async def test_embedding_calls_are_recorded() -> None:
    async with ScriptedOpenAIAPI() as api, client(api) as ai:
        await ai.embeddings.create(model="e", input=["a", "b"], dimensions=8)
        await ai.embeddings.create(model="e", input="c", encoding_format="float")
        first, second = api.embedding_requests
    assert (first.model, first.texts, first.dimensions) == ("e", ("a", "b"), 8)
    assert first.encoding_format == "base64"
    assert (second.texts, second.dimensions, second.encoding_format) == (("c",), None, "float")
    assert first.headers["authorization"] == "Bearer dummy"
    assert api.requests == []


async def test_embeddings_of_ones_own_may_fail() -> None:
    def embed(text: str) -> list[float] | Failure:
        return fail(500, "cannot embed") if "bad" in text else [3.0, 4.0]

    async with ScriptedOpenAIAPI(embeddings=embed) as api, client(api) as ai:
        answer = await ai.embeddings.create(model="e", input="good", encoding_format="float")
        assert answer.data[0].embedding == [3.0, 4.0]
        with pytest.raises(openai.InternalServerError, match="cannot embed"):
            await ai.embeddings.create(model="e", input=["good", "bad"])
        assert len(api.embedding_requests) == 2


async def test_an_embeddings_function_that_raises_is_a_problem_of_the_script() -> None:
    def embed(text: str) -> list[float]:
        raise LookupError(text)

    async with ScriptedOpenAIAPI(embeddings=embed) as api, client(api) as ai:
        with pytest.raises(openai.APIStatusError, match="raised LookupError: a"):
            await ai.embeddings.create(model="e", input="a")
        assert api.problems == ["the embeddings function raised LookupError: a"]


async def test_chat_and_embeddings_run_on_one_server() -> None:
    def answer(_request: object) -> Reply:
        return say("ok")

    async with ScriptedOpenAIAPI(forever(answer)) as api, client(api) as ai:
        await ai.embeddings.create(model="e", input="a")
        done = await ai.chat.completions.create(model="m", messages=HELLO)
        assert done.choices[0].message.content == "ok"
