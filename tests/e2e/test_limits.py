"""The limits of a turn, and what its result counts, on the real Claude Code process.

What else can go wrong is in tests/faults.
"""

from __future__ import annotations

import asyncio

import pytest

from holodeck_backend_claude.contract import (
    BackendTimeoutError,
    TextDelta,
    ToolResult,
    TurnEnd,
)
from holodeck_backend_claude.testing import (
    call_tool,
    fail,
    forever,
    hold,
    reply,
    say,
)
from tests.support.probes import Behaviour, Probe, probe_schema

from .lab import Lab


def tool(behave: Behaviour) -> Probe:
    return Probe("kb", behave, probe_schema())


async def test_a_turn_that_takes_too_long_ends_with_what_there_is(lab: Lab) -> None:
    never = asyncio.Event()
    api = await lab.api(
        [hold(say("one two", chunks=["one ", "two"]), never, after_pieces=1), say("next")]
    )
    backend = await lab.backend(api, execution={"llm_timeout": 1.5})
    session = await backend.create_session()
    with pytest.raises(BackendTimeoutError) as error:
        await session.send("Hi")
    assert error.value.result is not None
    assert error.value.result.error_reason == "timeout exceeded"
    assert error.value.result.response == "one "
    assert (await session.send("and now?")).response == "next"


async def test_the_turn_limit_is_a_result_in_both_ways_of_running(lab: Lab) -> None:
    api = await lab.api([forever(call_tool("kb", {"query": "x"}))])
    backend = await lab.backend(
        api, tool(lambda _: ToolResult.from_text("r")), settings={"max_turns": 2}
    )
    alone = await backend.invoke_once("loop")
    session = await backend.create_session()
    turn = await session.send("loop")
    for result in (alone, turn):
        assert result.is_error
        assert result.error_reason == "max_turns limit reached"
        assert len(result.tool_results) == 2


async def test_success_on_the_last_allowed_turn_is_a_success(lab: Lab) -> None:
    api = await lab.api([call_tool("kb", {"query": "x"}), say("done")])
    backend = await lab.backend(
        api, tool(lambda _: ToolResult.from_text("r")), settings={"max_turns": 2}
    )
    result = await backend.invoke_once("go")
    assert not result.is_error
    assert result.response == "done"


async def test_the_budget_is_a_reason_of_its_own(lab: Lab) -> None:
    api = await lab.api([forever(call_tool("kb", {"query": "x"}))])
    backend = await lab.backend(
        api, tool(lambda _: ToolResult.from_text("r")), settings={"max_budget_usd": 0.000_001}
    )
    assert (await backend.invoke_once("go")).error_reason == "max_budget_usd reached"


async def test_teardown_ends_the_sessions_that_are_open(lab: Lab) -> None:
    api = await lab.api([forever(say("A"))])
    backend = await lab.backend(api)
    sessions = [await backend.create_session() for _ in range(2)]
    await sessions[0].send("1")
    await backend.teardown()
    assert [session.pid for session in sessions] == [None, None]


async def test_stream_ends_with_the_failed_result(lab: Lab) -> None:
    api = await lab.api([forever(fail(400, "boom"))])
    backend = await lab.backend(api)
    session = await backend.create_session()
    events = [event async for event in session.stream("Hi")]
    assert isinstance(events[-1], TurnEnd)
    assert events[-1].result.error_reason == "provider error: 400"
    assert not any(isinstance(event, TextDelta) for event in events)


async def test_num_turns_counts_answers_and_not_calls(lab: Lab) -> None:
    calls = [call_tool("kb", {"query": str(n)}) for n in range(6)]
    api = await lab.api([reply(*calls), say("done")])
    backend = await lab.backend(api, tool(lambda _: ToolResult.from_text("r")))
    result = await backend.invoke_once("go")
    assert len(result.tool_calls) == 6
    assert result.num_turns == 2
