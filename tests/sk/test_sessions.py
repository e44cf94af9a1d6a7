"""Conversations: what is remembered, what is kept apart, and what a turn that failed leaves."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holodeck_backend_claude.contract import (
    AgentBackend,
    AgentSession,
    BackendSessionError,
    BackendTimeoutError,
)
from holodeck_backend_claude.testing import ModelRequest, Reply, call_tool, fail, hang, reply, say
from tests.support.probes import Probe

from .lab import Lab


def texts(request: ModelRequest) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in request.messages]


async def test_backend_and_session_fulfil_the_contract(lab: Lab) -> None:
    _, backend = await lab.run([])
    assert isinstance(backend, AgentBackend)
    assert isinstance(await backend.create_session(), AgentSession)


async def test_a_second_turn_remembers_the_first_with_its_tool_calls(lab: Lab) -> None:
    api, backend = await lab.run(
        [call_tool("kb_search", {"query": "x"}, call_id="c1"), say("Found."), say("Again.")],
        Probe(),
    )
    session = await backend.create_session()
    first, second = await session.send("Look."), await session.send("And?")
    assert first.session_id == second.session_id == session.session_id
    assert second.tool_calls == []
    assert second.num_turns == 1
    assert api.requests[2].body["messages"][1:] == [
        {"role": "user", "content": "Look."},
        {
            "role": "assistant",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "kb_search", "arguments": '{"query": "x"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "found x"},
        {"role": "assistant", "content": "Found."},
        {"role": "user", "content": "And?"},
    ]


async def test_sessions_and_single_invocations_know_nothing_of_each_other(lab: Lab) -> None:
    api, backend = await lab.run([say("1"), say("2"), say("3"), say("4")])
    one, two = await backend.create_session(), await backend.create_session()
    ids = {
        (await one.send("I am Ada.")).session_id,
        (await two.send("Who am I?")).session_id,
        (await backend.invoke_once("Who am I?")).session_id,
        (await backend.invoke_once("Who am I?")).session_id,
    }
    assert len(ids) == 4
    assert all(len(request.messages) == 1 for request in api.requests)


async def test_a_second_send_waits_for_the_first(lab: Lab) -> None:
    gate = asyncio.Event()

    async def slow(_request: ModelRequest) -> Reply:
        await gate.wait()
        return say("First.")

    api, backend = await lab.run([slow, say("Second.")])
    session = await backend.create_session()
    first = asyncio.create_task(session.send("One"))
    second = asyncio.create_task(session.send("Two"))
    await api.wait_for_requests(1)
    assert len(api.requests) == 1
    gate.set()
    assert [(await first).response, (await second).response] == ["First.", "Second."]
    assert texts(api.requests[1]) == [("user", "One"), ("assistant", "First."), ("user", "Two")]


async def test_twenty_invocations_run_at_once_and_do_not_mix(lab: Lab) -> None:
    everyone = asyncio.Barrier(20)

    async def answer(request: ModelRequest) -> Reply:
        if request.tool_results:
            return say(f"Answer {request.tool_results[0].text}")
        await everyone.wait()
        return call_tool("kb_search", {"query": request.last_user_text})

    _, backend = await lab.run(answer, Probe(), tool={"concurrency": 20})
    results = await asyncio.gather(*(backend.invoke_once(f"q{i}") for i in range(20)))
    for index, result in enumerate(results):
        assert result.response == f"Answer found q{index}"
        assert [c["arguments"] for c in result.tool_calls] == [{"query": f"q{index}"}]
        assert len(result.tool_results) == 1
        assert result.num_turns == 2
    assert len({result.session_id for result in results}) == 20


async def test_a_turn_of_which_nothing_came_can_be_sent_again(lab: Lab) -> None:
    api, backend = await lab.run([fail(500), say("Hello.")])
    session = await backend.create_session()
    with pytest.raises(BackendSessionError):
        await session.send("Hi")
    assert (await session.send("Hi")).response == "Hello."
    assert texts(api.requests[1]) == [("user", "Hi")]


async def test_a_turn_that_failed_after_a_tool_call_is_remembered(lab: Lab) -> None:
    kb = Probe()
    api, backend = await lab.run(
        [call_tool("kb_search", {"query": "x"}, call_id="c1"), fail(500), say("Hello.")], kb
    )
    session = await backend.create_session()
    with pytest.raises(BackendSessionError) as caught:
        await session.send("Look.")
    assert caught.value.result is not None
    assert caught.value.result.tool_results == [
        {"call_id": "c1", "result": "found x", "is_error": False}
    ]
    await session.send("Well?")
    assert [m.role for m in api.requests[2].messages] == ["user", "assistant", "tool", "user"]
    assert len(kb.calls) == 1


async def test_a_cancelled_send_cancels_the_tool_and_leaves_no_call_without_a_result(
    lab: Lab,
) -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def wait(call: Any) -> str:
        if call.arguments["query"] == "quick":
            return "quick result"
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        raise AssertionError

    api, backend = await lab.run(
        [
            reply(
                call_tool("kb_search", {"query": "quick"}, call_id="c1"),
                call_tool("kb_search", {"query": "slow"}, call_id="c2"),
            ),
            say("Hello."),
        ],
        Probe(behave=wait),
    )
    session = await backend.create_session()
    sending = asyncio.create_task(session.send("Look."))
    await started.wait()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert cancelled.is_set()
    assert (await session.send("Hi")).response == "Hello."
    [_, asked, answered, _] = api.requests[1].messages
    assert [call.call_id for call in asked.tool_calls] == ["c1", "c2"]
    assert [(r.call_id, "interrupted" in r.text) for r in answered.tool_results] == [
        ("c1", False), ("c2", True),
    ]  # fmt: skip


async def test_a_turn_that_takes_too_long_times_out_and_the_next_one_works(lab: Lab) -> None:
    api, backend = await lab.run([hang(), say("Hello.")], execution={"llm_timeout": 0.3})
    session = await backend.create_session()
    with pytest.raises(BackendTimeoutError, match="timeout exceeded") as caught:
        await session.send("Hi")
    assert caught.value.result is not None
    assert caught.value.result.error_reason == "timeout exceeded"
    assert caught.value.result.num_turns == 0
    assert (await session.send("Hi")).response == "Hello."
    assert texts(api.requests[1]) == [("user", "Hi")]


async def test_the_turn_limit_is_a_result_and_a_success_on_the_last_turn_a_success(
    lab: Lab,
) -> None:
    kb = Probe()
    script = [call_tool("kb_search", {"query": "1"}), call_tool("kb_search", {"query": "2"})]
    api, backend = await lab.run(
        [*script, call_tool("kb_search", {"query": "3"}), say("Done.")],
        kb,
        settings={"max_turns": 2},
    )
    session = await backend.create_session()
    result = await session.send("Look.")
    assert (result.is_error, result.error_reason) == (True, "max_turns limit reached")
    assert result.num_turns == 2
    assert len(result.tool_results) == 2
    assert len(api.requests) == 2
    assert result.response == ""
    again = await session.send("Go on.")
    assert (again.response, again.is_error, again.num_turns) == ("Done.", False, 2)


async def test_closing_twice_is_fine_and_a_closed_session_takes_no_message(lab: Lab) -> None:
    _, backend = await lab.run([say("Hello.")])
    session = await backend.create_session()
    await session.send("Hi")
    await session.close()
    await session.close()
    with pytest.raises(BackendSessionError, match="closed"):
        await session.send("Hi")
    with pytest.raises(BackendSessionError, match="closed"):
        async for _ in session.send_streaming("Hi"):
            pass
    with pytest.raises(BackendSessionError, match="closed"):
        async for _ in session.stream("Hi"):
            pass


async def test_closing_in_the_middle_of_a_turn_ends_it_and_the_waiting_one(lab: Lab) -> None:
    api, backend = await lab.run([hang()])
    session = await backend.create_session()
    sends = [asyncio.create_task(session.send(text)) for text in ("One", "Two")]
    await api.wait_for_requests(1)
    await session.close()
    for send in sends:
        with pytest.raises(BackendSessionError, match="interrupted"):
            await send


async def test_teardown_closes_every_session_and_may_be_called_twice(lab: Lab) -> None:
    api, backend = await lab.run([hang(), hang()])
    session = await backend.create_session()
    sending = asyncio.create_task(session.send("One"))
    alone = asyncio.create_task(backend.invoke_once("Two"))
    await api.wait_for_requests(2)
    await backend.teardown()
    await backend.teardown()
    with pytest.raises(BackendSessionError):
        await sending
    assert (await alone).error_reason == "interrupted"
    for use in (backend.invoke_once("Hi"), backend.create_session()):
        with pytest.raises(BackendSessionError, match="torn down"):
            await use


async def test_half_a_character_in_an_answer_or_a_call_breaks_no_later_turn(lab: Lab) -> None:
    api, backend = await lab.run(
        [
            say("a\ud800b"),
            call_tool("kb_search", {"query": "a\ud800"}),
            say("fine"),
            say("fine too"),
        ],
        Probe(),
    )
    session = await backend.create_session()
    first = await session.send("one")
    second = await session.send("two \udc00")
    third = await session.send("three")
    assert [first.response, second.response, third.response] == ["a?b", "fine", "fine too"]
    assert not any(turn.is_error for turn in (first, second, third))
    assert second.tool_calls[0]["arguments"] == {"query": "a?"}
    assert ("assistant", "a?b") in texts(api.requests[3])
