"""The scripted Messages API speaks the wire format, streamed and not."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from holodeck_backend_claude.testing import (
    Reply,
    RequestedCall,
    RequestedResult,
    RequestMessage,
    Script,
    ScriptedMessagesAPI,
    Usage,
    call_tool,
    cut,
    fail,
    reply,
    say,
)

NAME = "mcp__holodeck_tools__kb_search"
TOOL = {
    "name": NAME,
    "description": "Search kb",
    "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}},
}
ASK: dict[str, Any] = {
    "model": "claude-x",
    "max_tokens": 100,
    "system": [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}],
    "messages": [{"role": "user", "content": "Hello?"}],
    "tools": [TOOL],
}


async def post(
    api: ScriptedMessagesAPI, body: dict[str, Any], path: str = "/v1/messages?beta=true"
) -> httpx.Response:
    async with httpx.AsyncClient(base_url=api.url) as client:
        return await client.post(path, json=body)


def events(answer: httpx.Response) -> list[dict[str, Any]]:
    """The events of a stream; each one's name is also its type."""
    found = []
    for block in answer.text.strip().split("\n\n"):
        name, data = block.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        found.append(event)
    return found


async def streamed(answer: Reply) -> list[dict[str, Any]]:
    async with ScriptedMessagesAPI(answer) as api:
        return events(await post(api, {**ASK, "stream": True}))


async def test_a_streamed_text_has_every_event_in_order() -> None:
    usage = Usage(input=7, output=3, cache_read=20, cache_creation=4)
    said = await streamed(say("Hello world", chunks=["Hello ", "world"], usage=usage))
    assert [event["type"] for event in said] == [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    start = said[0]["message"]
    assert (start["role"], start["model"], start["content"]) == ("assistant", "claude-x", [])
    assert start["stop_reason"] is None
    assert start["usage"] == {
        "input_tokens": 7,
        "cache_creation_input_tokens": 4,
        "cache_read_input_tokens": 20,
        "output_tokens": 1,
    }
    assert [event["delta"]["text"] for event in said[3:5]] == ["Hello ", "world"]
    assert said[-2]["delta"] == {"stop_reason": "end_turn", "stop_sequence": None}
    assert said[-2]["usage"]["output_tokens"] == 3


async def test_thinking_is_streamed_with_its_signature() -> None:
    said = await streamed(say("Yes", thinking="Let me see."))
    assert said[2]["content_block"] == {"type": "thinking", "thinking": "", "signature": ""}
    assert [event["delta"]["type"] for event in said if event["type"] == "content_block_delta"] == [
        "thinking_delta",
        "thinking_delta",
        "signature_delta",
        "text_delta",
    ]


async def test_tool_arguments_are_streamed_in_pieces_under_the_offered_name() -> None:
    said = await streamed(reply(say("I look."), call_tool("kb_search", {"query": "refunds"})))
    start = next(e for e in said if e.get("content_block", {}).get("type") == "tool_use")
    assert start["index"] == 1
    assert start["content_block"]["name"] == "mcp__holodeck_tools__kb_search"
    assert start["content_block"]["input"] == {}
    assert start["content_block"]["id"].startswith("toolu_")
    pieces = [e["delta"]["partial_json"] for e in said if "partial_json" in e.get("delta", {})]
    assert len(pieces) > 2
    assert json.loads("".join(pieces)) == {"query": "refunds"}
    assert said[-2]["delta"]["stop_reason"] == "tool_use"


async def test_an_answer_without_streaming_is_one_message() -> None:
    answer = reply(
        say("I look.", thinking="Hm"),
        call_tool("kb_search", {"query": "a"}, call_id="toolu_1"),
        usage=Usage(output=42),
    )
    async with ScriptedMessagesAPI(answer) as api:
        message = (await post(api, ASK)).json()
    assert message["content"] == [
        {"type": "thinking", "thinking": "Hm", "signature": message["content"][0]["signature"]},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": NAME, "input": {"query": "a"}},
    ]
    assert (message["type"], message["stop_reason"]) == ("message", "tool_use")
    assert message["usage"]["output_tokens"] == 42


async def test_an_empty_answer_has_no_content() -> None:
    assert [e["type"] for e in await streamed(say(""))] == [
        "message_start",
        "ping",
        "message_delta",
        "message_stop",
    ]


async def test_every_answer_and_call_has_an_id_of_its_own() -> None:
    ids = set()
    for _ in range(2):
        async with ScriptedMessagesAPI(reply(call_tool("kb_search"), call_tool("x"))) as api:
            message = (await post(api, ASK)).json()
            ids.update([message["id"], *(block["id"] for block in message["content"])])
    assert len(ids) == 6


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ],
)
async def test_a_failure_has_the_status_and_type_of_the_real_api(status: int, kind: str) -> None:
    async with ScriptedMessagesAPI(fail(status, "no luck", retry_after=1.5)) as api:
        answer = await post(api, {**ASK, "stream": True})
    assert answer.status_code == status
    assert answer.json() == {"type": "error", "error": {"type": kind, "message": "no luck"}}
    assert answer.headers["retry-after"] == "1.5"


async def test_an_error_in_the_middle_of_a_stream_is_an_error_event() -> None:
    answer = cut(say("ab", chunks=["a", "b"]), after_pieces=1, error=fail(529, "busy"))
    said = await streamed(answer)
    assert said[-2]["delta"]["text"] == "a"
    assert said[-1]["error"] == {"type": "overloaded_error", "message": "busy"}


async def test_the_request_is_seen_in_neutral_form() -> None:
    body = {
        **ASK,
        "stream": True,
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "First?"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "t1", "name": NAME, "input": {"query": "a"}},
                    {"type": "tool_use", "id": "t2", "name": NAME, "input": {"query": "b"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": "found a"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "t2",
                        "content": [{"type": "text", "text": "broken"}],
                        "is_error": True,
                    },
                ],
            },
        ],
    }
    async with ScriptedMessagesAPI(say("done")) as api:
        await post(api, body)
        (request,) = api.requests
    first, second = (RequestedResult("t1", "found a"), RequestedResult("t2", "broken", True))
    assert request.messages == (
        RequestMessage("user", "First?"),
        RequestMessage(
            "assistant",
            "I look.",
            (
                RequestedCall("t1", NAME, {"query": "a"}),
                RequestedCall("t2", NAME, {"query": "b"}),
            ),
        ),
        RequestMessage("tool", tool_results=tuple(request.tool_results)),
    )
    assert [(r.call_id, r.text, r.is_error, r.name) for r in request.tool_results] == [
        (r.call_id, r.text, r.is_error, NAME) for r in (first, second)
    ]
    assert (request.model, request.system) == ("claude-x", "Be brief.\nBe kind.")
    assert request.stream
    assert [tool.name for tool in request.tools] == [NAME]
    assert request.last_user_text == "First?"
    assert request.headers["content-type"] == "application/json"
    assert request.body == body


async def test_what_claude_code_adds_to_messages_is_not_taken_for_the_users_words() -> None:
    added = "<system-reminder>\nToday is Monday.\n</system-reminder>"
    interrupted = "[Request interrupted by user for tool use]\n"
    image = "[Image: source: /tmp/private/images/1.png]"
    words = text("My <b>question</b>?")
    question = [text(added), text(interrupted), words, text(image), text(f"{added}\n")]
    turns = [
        {"role": "user", "content": question},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": NAME, "input": {}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": f"found\n\n{added}"},
                text(added),
            ],
        },
    ]
    async with ScriptedMessagesAPI(say("done")) as api:
        await post(api, {**ASK, "messages": turns})
        (request,) = api.requests
    assert request.last_user_text == "My <b>question</b>?"
    assert [result.text for result in request.tool_results] == ["found"]
    assert request.body["messages"] == turns


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


async def test_reminders_that_a_user_quotes_are_the_users_words() -> None:
    words = "<system-reminder>a</system-reminder> means what? <system-reminder>b</system-reminder>"
    async with ScriptedMessagesAPI(say("done")) as api:
        await post(api, {**ASK, "messages": [{"role": "user", "content": words}]})
        assert api.requests[0].last_user_text == words


async def test_words_of_the_user_after_a_tool_result_are_a_question_of_their_own() -> None:
    turns = [
        {"role": "user", "content": "First?"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": NAME, "input": {}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "interrupted"},
                text("Second?"),
            ],
        },
    ]
    async with ScriptedMessagesAPI(say("done")) as api:
        await post(api, {**ASK, "messages": turns})
        (request,) = api.requests
    assert request.tool_results == ()
    assert request.last_user_text == "Second?"


@pytest.mark.parametrize("script", [[], [say("unused")]])
async def test_a_title_that_claude_code_asks_for_takes_no_step(script: Script) -> None:
    schema = {"type": "object", "properties": {"title": {"type": "string"}}}
    body = {
        **ASK,
        "tools": [],
        "messages": [{"role": "user", "content": "<session>\nHello?\n</session>"}],
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
    }
    async with ScriptedMessagesAPI(script) as api:
        answer = (await post(api, body)).json()
        assert json.loads(answer["content"][0]["text"]) == {"title": "Scripted session"}
        assert (len(api.requests), len(api.side_requests), api.problems) == (0, 1, [])


async def test_the_other_endpoints_answer() -> None:
    async with ScriptedMessagesAPI([]) as api, httpx.AsyncClient(base_url=api.url) as client:
        assert (await client.head("/")).status_code == 200
        assert (await client.head("/api/hello")).status_code == 200
        counted = await client.post("/v1/messages/count_tokens", json=ASK)
        assert counted.json()["input_tokens"] > 10
        assert (await client.get("/v1/models")).json()["data"][0]["type"] == "model"
        unknown = await client.get("/v1/else")
        assert unknown.status_code == 404
        assert unknown.json()["error"]["message"] == "GET /v1/else is not scripted"
        assert api.requests == []


async def test_the_environment_points_a_client_here_and_nowhere_else() -> None:
    async with ScriptedMessagesAPI([]) as api:
        env = api.env()
        assert env["ANTHROPIC_BASE_URL"] == api.url
        assert env["ANTHROPIC_API_KEY"]
        assert "127.0.0.1" in env["NO_PROXY"]
        assert env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == "1"
