"""The scripted Messages API serves the real Claude Code process of the SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    Message,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    create_sdk_mcp_server,
    tool,
)
from mcp.types import ToolAnnotations

from holodeck_backend_claude.testing import (
    ScriptedMessagesAPI,
    Usage,
    call_tool,
    cut,
    fail,
    hang,
    offline_model,
    reply,
    say,
)

WIRE_NAME = "mcp__holodeck_tools__kb_search"
Connect = Callable[..., AbstractAsyncContextManager[ClaudeSDKClient]]


@pytest.fixture
def searched() -> list[str]:
    """The queries that reached the tool."""
    return []


@pytest.fixture
def connect(tmp_path: Path, searched: list[str]) -> Connect:
    """``connect(api, **env)``: a client of a Claude Code with one tool and no settings."""

    @tool(
        "kb_search",
        "Search kb",
        {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
        annotations=ToolAnnotations(readOnlyHint=True),
    )
    async def kb_search(arguments: dict[str, Any]) -> dict[str, Any]:
        searched.append(arguments["query"])
        return {"content": [{"type": "text", "text": f"found {arguments['query']}"}]}

    @asynccontextmanager
    async def connect(api: ScriptedMessagesAPI, **env: str) -> AsyncIterator[ClaudeSDKClient]:
        home = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path)}
        options = ClaudeAgentOptions(
            env={**api.env(), **home, **env},
            cwd=tmp_path,
            tools=[],
            setting_sources=[],
            strict_mcp_config=True,
            permission_mode="dontAsk",
            include_partial_messages=True,
            allowed_tools=[WIRE_NAME],
            mcp_servers={
                "holodeck_tools": create_sdk_mcp_server("holodeck_tools", "1", [kb_search])
            },
            system_prompt="You answer from the kb.",
            model="claude-sonnet-4-5",
        )
        async with ClaudeSDKClient(options) as client:
            yield client

    return connect


async def turn(client: ClaudeSDKClient, question: str) -> list[Message]:
    await client.query(question)
    return [message async for message in client.receive_response()]


def result(messages: list[Message]) -> ResultMessage:
    last = messages[-1]
    assert isinstance(last, ResultMessage)
    return last


def blocks(messages: list[Message]) -> list[object]:
    answers = (message for message in messages if isinstance(message, AssistantMessage))
    return [block for answer in answers for block in answer.content]


def deltas(messages: list[Message], key: str) -> list[str]:
    events = (message.event for message in messages if isinstance(message, StreamEvent))
    return [event["delta"][key] for event in events if key in event.get("delta", {})]


async def test_a_text_arrives_in_its_pieces_with_thinking_and_usage(connect: Connect) -> None:
    usage = Usage(input=7, output=3, cache_read=20, cache_creation=4)
    answer = say("Hello world", chunks=["Hello ", "world"], thinking="Hm.", usage=usage)
    async with ScriptedMessagesAPI(answer) as api, connect(api) as client:
        messages = await turn(client, "Hello?")
        assert deltas(messages, "text") == ["Hello ", "world"]
        assert "".join(deltas(messages, "thinking")) == "Hm."
        thinking, text = blocks(messages)
        assert isinstance(thinking, ThinkingBlock)
        assert thinking.thinking == "Hm."
        assert text == TextBlock("Hello world")
        done = result(messages)
        assert (done.result, done.is_error) == ("Hello world", False)
        assert done.usage is not None
        assert done.usage["input_tokens"] == 7
        assert done.usage["output_tokens"] == 3
        assert done.usage["cache_read_input_tokens"] == 20
        assert done.usage["cache_creation_input_tokens"] == 4
        (request,) = api.requests
        assert request.last_user_text == "Hello?"
        assert "You answer from the kb." in request.system
        assert [tool.name for tool in request.tools] == [WIRE_NAME]
        assert api.problems == []


async def test_a_tool_call_runs_the_tool_and_its_result_comes_back(
    connect: Connect, searched: list[str]
) -> None:
    script = [call_tool("kb_search", {"query": "refunds"}, call_id="toolu_1"), say("30 days.")]
    async with ScriptedMessagesAPI(script) as api, connect(api) as client:
        messages = await turn(client, "Refunds?")
        assert blocks(messages)[0] == ToolUseBlock("toolu_1", WIRE_NAME, {"query": "refunds"})
        assert searched == ["refunds"]
        assert result(messages).result == "30 days."
        (found,) = api.requests[1].tool_results
        assert (found.call_id, found.name, found.text) == ("toolu_1", WIRE_NAME, "found refunds")
        assert not found.is_error


async def test_three_calls_in_one_answer_all_run(connect: Connect, searched: list[str]) -> None:
    calls = reply(say("I look."), *(call_tool("kb_search", {"query": q}) for q in "abc"))
    async with ScriptedMessagesAPI([calls, say("Done.")]) as api, connect(api) as client:
        messages = await turn(client, "Three?")
        assert result(messages).result == "Done."
        assert sorted(searched) == ["a", "b", "c"]
        found = [answer.text for answer in api.requests[1].tool_results]
        assert found == ["found a", "found b", "found c"]


async def test_a_second_turn_carries_the_first(connect: Connect) -> None:
    async with ScriptedMessagesAPI([say("One."), say("Two.")]) as api, connect(api) as client:
        assert result(await turn(client, "First?")).result == "One."
        assert result(await turn(client, "Second?")).result == "Two."
        assert [(m.role, m.text) for m in api.requests[1].messages] == [
            ("user", "First?"),
            ("assistant", "One."),
            ("user", "Second?"),
        ]
        assert api.requests[1].last_user_text == "Second?"


async def test_claude_code_tries_again_after_529(connect: Connect) -> None:
    script = [fail(529, "busy", retry_after=0), say("At last.")]
    async with ScriptedMessagesAPI(script) as api, connect(api) as client:
        messages = await turn(client, "Hello?")
        assert result(messages).result == "At last."
        retries = [m.data for m in messages if isinstance(m, SystemMessage)]
        assert [r["error_status"] for r in retries if r["subtype"] == "api_retry"] == [529]
        assert len(api.requests) == 2


async def test_claude_code_tries_again_after_a_cut_stream(connect: Connect) -> None:
    answer = say("Hello world", chunks=["Hello ", "world"])
    script = [cut(answer, after_pieces=1), answer]
    async with ScriptedMessagesAPI(script) as api, connect(api) as client:
        messages = await turn(client, "Hello?")
        assert result(messages).result == "Hello world"
        assert deltas(messages, "text")[0] == "Hello ", "what came before the cut was streamed"
        assert len(api.requests) == 2


async def test_an_unknown_tool_and_broken_arguments_come_back_as_errors(
    connect: Connect, searched: list[str]
) -> None:
    script = [
        call_tool("no_such_tool", {"a": 1}),
        call_tool("kb_search", "{not json"),
        say("I give up."),
    ]
    async with ScriptedMessagesAPI(script) as api, connect(api) as client:
        assert result(await turn(client, "Hello?")).result == "I give up."
        assert [len(request.tool_results) for request in api.requests] == [0, 1, 1]
        assert all(r.is_error for request in api.requests for r in request.tool_results)
        assert api.requests[1].tool_results[0].name == "no_such_tool"
        assert searched == []


async def test_a_script_that_ended_reaches_the_result_after_one_request(connect: Connect) -> None:
    async with ScriptedMessagesAPI([]) as api, connect(api) as client:
        done = result(await turn(client, "Hello?"))
        assert done.is_error
        assert "the script has ended" in (done.result or "")
        assert len(api.requests) == 1


async def test_titles_that_claude_code_asks_for_take_no_step(connect: Connect) -> None:
    more = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": ""}
    async with ScriptedMessagesAPI([say("One."), say("Two.")]) as api, connect(api, **more) as c:
        assert result(await turn(c, "First?")).result == "One."
        assert result(await turn(c, "Second?")).result == "Two."
        assert len(api.requests) == 2
        assert all(not request.tools for request in api.side_requests)


async def test_by_default_claude_code_makes_no_request_of_its_own(connect: Connect) -> None:
    async with ScriptedMessagesAPI(say("One.")) as api, connect(api) as client:
        await turn(client, "First?")
    assert (len(api.requests), api.side_requests) == (1, [])


async def test_claude_code_can_be_left_while_the_model_hangs(connect: Connect) -> None:
    async with ScriptedMessagesAPI(hang()) as api, connect(api) as client:
        await client.query("Hello?")
        await api.wait_for_requests(1)
        await client.interrupt()
        assert result([message async for message in client.receive_response()]).is_error


async def test_a_turn_after_an_interrupted_one_is_a_valid_request(connect: Connect) -> None:
    script = [call_tool("kb_search", {"query": "a"}), hang(), say("Two.")]
    async with ScriptedMessagesAPI(script) as api, connect(api) as client:
        await client.query("First?")
        await api.wait_for_requests(2)
        await client.interrupt()
        assert result([message async for message in client.receive_response()]).is_error
        assert result(await turn(client, "Second?")).result == "Two."
        assert api.requests[-1].last_user_text == "Second?"
        assert api.problems == []


async def test_the_offline_model_quotes_the_tool(connect: Connect, searched: list[str]) -> None:
    async with ScriptedMessagesAPI(offline_model) as api, connect(api) as client:
        for question in ("What is the refund policy?", "And gift cards?"):
            answer = result(await turn(client, question)).result
            assert answer == (
                "Offline: no model was called. The passages below are what the tool kb_search "
                f"returned for your question.\n\nfound {question}"
            )
    assert searched == ["What is the refund policy?", "And gift cards?"]
