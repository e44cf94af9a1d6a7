"""What goes wrong in a turn has its reason in the result, and leaves no process behind.

The fixture ``lab`` checks after each test that no process, folder or task of it is left.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading

import pytest

from holodeck_backend_claude.contract import (
    BackendSessionError,
    BackendTimeoutError,
    Retrying,
    TextDelta,
    ToolCall,
    ToolResult,
    TurnEnd,
)
from holodeck_backend_claude.testing import (
    Answer,
    ModelRequest,
    call_tool,
    cut,
    fail,
    forever,
    hang,
    hold,
    reply,
    say,
)
from tests.support.probes import Behaviour, Probe, probe_schema

from .lab import Lab


def tool(behave: Behaviour) -> Probe:
    return Probe("kb", behave, probe_schema())


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (400, "provider error: 400"),
        (401, "authentication failed"),
        (403, "authentication failed"),
        (404, "provider error: 404"),
        (429, "rate limited"),
        (500, "provider error: 500"),
        (529, "provider error: 529"),
    ],
)
async def test_an_api_error_is_one_result_with_its_reason(
    lab: Lab, status: int, reason: str
) -> None:
    api = await lab.api([forever(fail(status, "scripted boom"))])
    backend = await lab.backend(api)
    result = await backend.invoke_once("Hi")
    assert result.is_error
    assert result.error_reason == reason
    assert result.response == ""
    assert result.error_detail


async def test_a_refused_credential_is_not_tried_again(lab: Lab) -> None:
    api = await lab.api([forever(fail(401, "invalid x-api-key"))])
    backend = await lab.backend(api, execution={"max_retries": 10})
    async with asyncio.timeout(10):
        result = await backend.invoke_once("Hi")
    assert result.error_reason == "authentication failed"
    assert len(api.requests) == 1


async def test_a_busy_provider_is_asked_again_and_the_wait_is_shown(lab: Lab) -> None:
    api = await lab.api([fail(529, "overloaded"), say("Hello.")])
    backend = await lab.backend(api)
    session = await backend.create_session()
    events = [event async for event in session.stream("Hi")]
    assert isinstance(events[-1], TurnEnd)
    waits = [event for event in events if isinstance(event, Retrying)]
    assert [wait.reason for wait in waits] == ["provider error: 529"]
    assert events[-1].result.response == "Hello."


async def test_max_retries_zero_asks_once(lab: Lab) -> None:
    api = await lab.api([forever(fail(500, "boom"))])
    backend = await lab.backend(api, execution={"max_retries": 0})
    await backend.invoke_once("Hi")
    assert len(api.requests) == 1


async def test_a_stream_that_breaks_for_good_keeps_the_text_so_far(lab: Lab) -> None:
    broken = cut(say("one two three", chunks=["one ", "two ", "three"]), after_pieces=2)
    api = await lab.api([forever(broken)])
    backend = await lab.backend(api)
    result = await backend.invoke_once("Hi")
    assert result.is_error
    assert result.error_reason == "provider error: connection lost"
    assert result.response.startswith("one two ")


async def test_an_answer_that_broke_off_and_came_again_is_streamed_once(lab: Lab) -> None:
    answer = say("one two three", chunks=["one ", "two ", "three"])
    api = await lab.api([cut(answer, after_pieces=2), answer])
    backend = await lab.backend(api)
    session = await backend.create_session()
    events = [event async for event in session.stream("Hi")]
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert text == "one two three"
    assert isinstance(events[-1], TurnEnd)
    assert events[-1].result.response == "one two three"


async def test_a_killed_process_in_the_middle_of_a_turn(lab: Lab) -> None:
    never = asyncio.Event()
    cut_off = hold(say("one two", chunks=["one ", "two"]), never, after_pieces=1)
    api = await lab.api([cut_off, say("I am back.")])
    backend = await lab.backend(api)
    session = await backend.create_session()
    seen = []

    async def read_and_kill() -> None:
        async for text in session.send_streaming("Hi"):
            seen.append(text)
            os.kill(session.pid or 0, signal.SIGKILL)

    with pytest.raises(BackendSessionError, match="subprocess terminated unexpectedly") as error:
        await read_and_kill()
    assert seen == ["one "]
    assert error.value.result is not None
    assert error.value.result.error_reason == "subprocess terminated unexpectedly"
    assert (await session.send("again")).response == "I am back."
    assert len(api.requests) == 2


async def test_a_killed_process_is_a_result_of_invoke_once(lab: Lab) -> None:
    def kill(_call: ToolCall) -> ToolResult:
        for session in backend._sessions:
            os.kill(session.pid or 0, signal.SIGKILL)
        return ToolResult.from_text("never read")

    api = await lab.api([reply(say("I look."), call_tool("kb", {"query": "x"})), say("never")])
    backend = await lab.backend(api, tool(kill))
    result = await backend.invoke_once("Hi")
    assert result.error_reason == "subprocess terminated unexpectedly"
    assert result.tool_calls[0]["name"] == "kb"
    assert result.token_usage["output_tokens"] > 0


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


async def test_a_provider_that_never_answers_ends_in_time(lab: Lab) -> None:
    api = await lab.api([hang()])
    backend = await lab.backend(api, execution={"llm_timeout": 1})
    result = await backend.invoke_once("Hi")
    assert result.error_reason == "timeout exceeded"


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


async def test_a_refusal_is_not_a_success(lab: Lab) -> None:
    api = await lab.api([forever(say("I cannot.", stop_reason="refusal"))])
    backend = await lab.backend(api)
    result = await backend.invoke_once("Hi")
    assert result.is_error
    assert result.error_reason == "refused"


async def test_a_tool_that_raises_tells_the_model_and_the_run_goes_on(lab: Lab) -> None:
    def fall(_call: ToolCall) -> ToolResult:
        raise ValueError("the index is gone")

    api = await lab.api([call_tool("kb", {"query": "x"}), say("sorry")])
    backend = await lab.backend(api, tool(fall))
    result = await backend.invoke_once("go")
    assert result.response == "sorry"
    assert result.tool_results[0]["is_error"]
    assert "ValueError" in result.tool_results[0]["result"]
    assert "the index is gone" in api.requests[1].messages[-1].tool_results[0].text


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(3), KeyboardInterrupt()])
async def test_no_exception_of_a_tool_kills_its_server(lab: Lab, error: BaseException) -> None:
    def fall(_call: ToolCall) -> ToolResult:
        raise error

    probe = tool(fall)
    api = await lab.api(
        [call_tool("kb", {"query": "1"}), call_tool("kb", {"query": "2"}), say("done")]
    )
    backend = await lab.backend(api, probe)
    result = await backend.invoke_once("go")
    assert len(probe.calls) == 2
    assert [r["is_error"] for r in result.tool_results] == [True, True]
    assert result.response == "done"


async def test_a_tool_that_hangs_is_given_up_after_its_time(lab: Lab) -> None:
    async def sleep(_call: ToolCall) -> ToolResult:
        await asyncio.Event().wait()
        raise AssertionError

    api = await lab.api([call_tool("kb", {"query": "x"}), say("went on")])
    backend = await lab.backend(api, tool(sleep), tool={"timeout": 0.3})
    result = await backend.invoke_once("go")
    assert result.response == "went on"
    assert "kb" in result.tool_results[0]["result"]
    assert "0.3" in result.tool_results[0]["result"]


@pytest.mark.parametrize("nonsense", [None, 17, {"a": [1]}, ["x", 2], b"\x00\xff", object()])
async def test_a_tool_that_returns_nonsense_still_gives_the_model_text(
    lab: Lab, nonsense: object
) -> None:
    api = await lab.api([call_tool("kb", {"query": "x"}), say("done")])
    backend = await lab.backend(api, tool(lambda _: nonsense))
    result = await backend.invoke_once("go")
    assert result.response == "done"
    assert result.tool_results[0]["result"].strip()


async def test_a_tool_with_on_error_fail_ends_the_run(lab: Lab) -> None:
    def fall(_call: ToolCall) -> ToolResult:
        raise ValueError("no")

    api = await lab.api([forever(call_tool("kb", {"query": "x"}))])
    backend = await lab.backend(api, tool(fall), tool={"on_error": "fail"})
    result = await backend.invoke_once("go")
    assert result.error_reason == "tool execution failed: kb"
    assert "ValueError" in (result.error_detail or "")
    assert len(api.requests) == 1


async def test_a_timeout_cancels_the_tool_that_runs(lab: Lab) -> None:
    cancelled = asyncio.Event()

    async def slow(_call: ToolCall) -> ToolResult:
        try:
            await asyncio.Event().wait()
            raise AssertionError
        except asyncio.CancelledError:
            cancelled.set()
            raise

    api = await lab.api([call_tool("kb", {"query": "x"}), say("never")])
    backend = await lab.backend(api, tool(slow), execution={"llm_timeout": 1.5})
    result = await backend.invoke_once("go")
    assert result.error_reason == "timeout exceeded"
    await asyncio.wait_for(cancelled.wait(), 5)


async def test_a_tool_that_blocks_its_thread_does_not_hold_up_the_turn(lab: Lab) -> None:
    gate = threading.Event()

    class Blocking(Probe):
        def call(self, call: ToolCall) -> ToolResult:  # type: ignore[override]  # in a thread
            gate.wait(30)
            return ToolResult.from_text("late")

    api = await lab.api([call_tool("kb", {"query": "x"}), say("went on")])
    backend = await lab.backend(
        api, Blocking("kb", lambda _: None, probe_schema()), tool={"timeout": 0.3}
    )
    result = await backend.invoke_once("go")
    gate.set()
    assert result.response == "went on"


async def test_a_tool_the_model_made_up_is_an_error_result_and_the_run_goes_on(lab: Lab) -> None:
    api = await lab.api([call_tool("Bash", {"command": "ls"}), say("done")])
    backend = await lab.backend(api)
    result = await backend.invoke_once("go")
    assert result.tool_calls[0]["name"] == "Bash"
    assert result.tool_results[0]["is_error"]
    assert result.response == "done"


async def test_leaving_a_stream_early_leaves_the_session_usable(lab: Lab) -> None:
    never = asyncio.Event()
    api = await lab.api(
        [hold(say("one two", chunks=["one ", "two"]), never, after_pieces=1), say("next")]
    )
    backend = await lab.backend(api)
    session = await backend.create_session()
    stream = session.send_streaming("Hi")
    async for text in stream:
        assert text == "one "
        break
    await stream.aclose()
    assert (await session.send("again")).response == "next"


async def test_a_cancelled_send_leaves_the_session_usable(lab: Lab) -> None:
    never, begun = asyncio.Event(), asyncio.Event()

    async def answer(_request: ModelRequest) -> Answer:
        begun.set()
        return hold(say("slow"), never)

    api = await lab.api([answer, say("next")])
    backend = await lab.backend(api)
    session = await backend.create_session()
    first = asyncio.create_task(session.send("Hi"))
    await begun.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert (await session.send("again")).response == "next"


async def test_a_cancelled_invoke_once_leaves_no_process(lab: Lab) -> None:
    begun = asyncio.Event()

    async def answer(_request: ModelRequest) -> Answer:
        begun.set()
        return hang()

    api = await lab.api([answer])
    backend = await lab.backend(api)
    run = asyncio.create_task(backend.invoke_once("Hi"))
    await begun.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


async def test_closing_in_the_middle_of_a_turn_ends_it(lab: Lab) -> None:
    begun = asyncio.Event()

    async def answer(_request: ModelRequest) -> Answer:
        begun.set()
        return hang()

    api = await lab.api([answer])
    backend = await lab.backend(api)
    session = await backend.create_session()
    turn = asyncio.create_task(session.send("Hi"))
    await begun.wait()
    await session.close()
    with pytest.raises(BackendSessionError):
        await turn


async def test_close_and_teardown_may_be_called_twice_and_use_after_close_is_an_error(
    lab: Lab,
) -> None:
    api = await lab.api([say("A")])
    backend = await lab.backend(api)
    session = await backend.create_session()
    await session.send("1")
    await session.close()
    await session.close()
    with pytest.raises(BackendSessionError, match="closed"):
        await session.send("2")
    await backend.teardown()
    await backend.teardown()
    with pytest.raises(BackendSessionError, match="torn down"):
        await backend.invoke_once("3")


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


@pytest.mark.parametrize("wait", [0.0, 0.05, 0.3])
async def test_teardown_while_a_run_starts_is_an_interrupted_result(lab: Lab, wait: float) -> None:
    api = await lab.api([forever(hang())])
    backend = await lab.backend(api)
    run = asyncio.create_task(backend.invoke_once("Hi"))
    session = asyncio.create_task(backend.create_session())
    await asyncio.sleep(wait)
    await backend.teardown()
    assert (await run).error_reason == "interrupted"
    if wait < 0.3:
        with pytest.raises(BackendSessionError):
            await session
    else:
        await asyncio.wait({session})


@pytest.mark.parametrize("message", [None, 5, b"x"])
async def test_a_message_that_is_no_text_is_a_type_error_and_the_session_lives(
    lab: Lab, message: object
) -> None:
    api = await lab.api([say("A")])
    backend = await lab.backend(api)
    session = await backend.create_session()
    with pytest.raises(TypeError, match="a message is a text"):
        await session.send(message)  # type: ignore[arg-type]
    assert (await session.send("Hi")).response == "A"


async def test_an_answer_that_is_too_long_is_not_called_a_lost_connection(lab: Lab) -> None:
    api = await lab.api([forever(say("no", stop_reason="max_tokens"))])
    backend = await lab.backend(api)
    assert (await backend.invoke_once("Hi")).error_reason == "provider error: max_output_tokens"


async def test_num_turns_counts_answers_and_not_calls(lab: Lab) -> None:
    calls = [call_tool("kb", {"query": str(n)}) for n in range(6)]
    api = await lab.api([reply(*calls), say("done")])
    backend = await lab.backend(api, tool(lambda _: ToolResult.from_text("r")))
    result = await backend.invoke_once("go")
    assert len(result.tool_calls) == 6
    assert result.num_turns == 2
