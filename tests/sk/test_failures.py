"""What goes wrong at the provider: one reason each, no second run of anything."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from holodeck_backend_claude.contract import BackendSessionError, Retrying
from holodeck_backend_claude.testing import Usage, call_tool, cut, fail, say
from tests.support.probes import Probe

from .lab import Lab

HELLO = say("Hello world", chunks=["Hello ", "world"])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (fail(401, "bad key"), "authentication failed"),
        (fail(403, "no"), "authentication failed"),
        (fail(429, "slow down"), "rate limited"),
        (fail(400, "bad request"), "provider error: 400"),
        (fail(404, "no such model"), "provider error: 404"),
        (fail(500, "oops"), "provider error: 500"),
        (fail(503, "oops"), "provider error: 503"),
        (cut(HELLO, after_pieces=0), "provider error: connection lost"),
        (cut(HELLO, after_pieces=1), "provider error: connection lost"),
        (cut(HELLO, after_pieces=1, error=fail(500, "oops")), "provider error: server_error"),
        (cut(HELLO, after_pieces=1, error=fail(429, "slow down")), "rate limited"),
    ],
)
async def test_each_failure_has_its_reason(lab: Lab, answer: Any, reason: str) -> None:
    api, backend = await lab.run([answer, answer])
    result = await backend.invoke_once("Hi")
    assert (result.is_error, result.error_reason) == (True, reason)
    session = await backend.create_session()
    with pytest.raises(BackendSessionError, match=reason) as caught:
        await session.send("Hi")
    assert caught.value.result is not None
    assert caught.value.result.error_reason == reason
    assert len(api.requests) == 2


async def test_the_provider_s_words_are_the_detail_with_secrets_masked(lab: Lab) -> None:
    _, backend = await lab.run([fail(401, "Incorrect API key: sk-abcdefghijklmnop")])
    result = await backend.invoke_once("Hi")
    assert result.error_detail is not None
    assert "Incorrect API key" in result.error_detail
    assert "abcdefgh" not in result.error_detail


async def test_a_cut_answer_keeps_its_text_and_the_usage_before_it(lab: Lab) -> None:
    _, backend = await lab.run(
        [call_tool("kb_search", {"query": "x"}, usage=Usage(10, 5)), cut(HELLO, after_pieces=1)],
        Probe(),
        execution={"max_retries": 3},
    )
    result = await backend.invoke_once("Hi")
    assert result.error_reason == "provider error: connection lost"
    assert result.response == "Hello "
    assert result.token_usage["total_tokens"] == 15
    assert result.num_turns == 2
    assert len(result.tool_results) == 1


async def test_a_refused_request_is_sent_again_as_often_as_asked_for(lab: Lab) -> None:
    refused = fail(429, "slow down", retry_after=0.01)
    api, backend = await lab.run([refused, refused, say("Hi.")], execution={"max_retries": 2})
    session = await backend.create_session()
    events = [event async for event in session.stream("Hi")]
    assert events[:2] == [Retrying(1, "rate limited", 0.01), Retrying(2, "rate limited", 0.01)]
    assert events[-1].result.response == "Hi."
    assert events[-1].result.num_turns == 1
    assert len(api.requests) == 3


async def test_retries_end_at_their_limit(lab: Lab) -> None:
    refused = fail(500, "oops", retry_after=0.01)
    api, backend = await lab.run([refused] * 4, execution={"max_retries": 2})
    assert (await backend.invoke_once("Hi")).error_reason == "provider error: 500"
    assert len(api.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
async def test_what_stays_refused_is_not_sent_again(lab: Lab, status: int) -> None:
    api, backend = await lab.run([fail(status)] * 2, execution={"max_retries": 3})
    assert (await backend.invoke_once("Hi")).is_error
    assert len(api.requests) == 1


async def test_a_wait_longer_than_a_minute_is_not_waited_for(lab: Lab) -> None:
    api, backend = await lab.run([fail(429, retry_after=3_600)] * 2, execution={"max_retries": 3})
    assert (await backend.invoke_once("Hi")).error_reason == "rate limited"
    assert len(api.requests) == 1


async def test_a_refusal_between_tool_calls_repeats_the_request_and_not_the_tool(
    lab: Lab,
) -> None:
    kb = Probe()
    api, backend = await lab.run(
        [
            call_tool("kb_search", {"query": "x"}),
            fail(503, "overloaded", retry_after=0.01),
            say("Found."),
        ],
        kb,
        execution={"max_retries": 1},
    )
    result = await backend.invoke_once("Look.")
    assert result.response == "Found."
    assert len(kb.calls) == 1
    assert api.requests[1].body == api.requests[2].body


async def test_a_broken_answer_is_never_asked_for_again(lab: Lab) -> None:
    kb = Probe()
    api, backend = await lab.run(
        [cut(call_tool("kb_search", {"query": "a long question"}), after_pieces=1), say("no")],
        kb,
        execution={"max_retries": 3},
    )
    result = await backend.invoke_once("Look.")
    assert result.error_reason == "provider error: connection lost"
    assert kb.calls == []
    assert len(api.requests) == 1


async def test_an_address_where_nobody_listens_is_a_lost_connection(lab: Lab) -> None:
    api = await lab.api([])
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{reserved.getsockname()[1]}/v1"
        backend = await lab.backend(api, model={"endpoint": endpoint})
        result = await backend.invoke_once("Hi")
    assert result.error_reason == "provider error: connection lost"
    assert result.error_detail is not None
    assert "127.0.0.1" in result.error_detail


async def test_a_timeout_within_a_tool_ends_the_turn_with_what_there_was(lab: Lab) -> None:
    async def wait(_call: Any) -> str:
        await asyncio.Event().wait()
        raise AssertionError

    _, backend = await lab.run(
        [call_tool("kb_search", {"query": "x"}, call_id="c1")],
        Probe(behave=wait),
        execution={"llm_timeout": 0.5},
    )
    result = await backend.invoke_once("Look.")
    assert result.error_reason == "timeout exceeded"
    assert [call["call_id"] for call in result.tool_calls] == ["c1"]
    assert result.tool_results == []


async def test_a_tool_s_own_time_limit_is_a_result_for_the_model(lab: Lab) -> None:
    async def wait(_call: Any) -> str:
        await asyncio.Event().wait()
        raise AssertionError

    _, backend = await lab.run(
        [call_tool("kb_search", {"query": "x"}), say("It took too long.")],
        Probe(behave=wait),
        tool={"timeout": 0.2},
    )
    result = await backend.invoke_once("Look.")
    assert not result.is_error
    assert result.tool_results[0]["is_error"]
    assert "0.2 s" in result.tool_results[0]["result"]
