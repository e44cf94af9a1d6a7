"""A Claude Code program that does something else in a turn than it should."""

from __future__ import annotations

import asyncio
import os
import signal

from holodeck_backend_claude.claude import options
from holodeck_backend_claude.contract import TextDelta, ToolCall, ToolResult, TurnEnd, TurnEvent
from holodeck_backend_claude.testing import (
    Answer,
    ModelRequest,
    call_tool,
    hang,
    hold,
    reply,
    say,
)
from tests.faults.lab import FaultLab, each, ended, outcome, tool
from tests.faults.registry import fault
from tests.faults.scenario import (
    SESSION,
    Step,
    assistant,
    delta,
    event,
    result,
    spoken,
    started,
    tool_result,
    well,
)
from tests.faults.scenario import say as message

CRASHED = "subprocess terminated unexpectedly"
WAIT: Step = ("wait_for_message", None)
DIE: Step = ("kill_itself", None)
CALL: Step = assistant({"type": "tool_use", "id": "toolu_1", "name": "kb", "input": {}})

SPOILED = "provider error: error_max_structured_output_retries"

Turns = dict[str, tuple[Step, ...]]


async def how_each_ends(lab: FaultLab, turns: Turns) -> dict[str, str]:
    stand_in, backend = await lab.backend_with_stand_in()

    async def try_one(value: str) -> str:
        stand_in.plays(WAIT, *turns[value])
        return ended(await backend.invoke_once("Hi"))

    return await each(tuple(turns), try_one)


@fault(
    "turn",
    "dies at each point of a turn",
    {
        "before the message": CRASHED,
        "before any output": CRASHED,
        "after the first words": CRASHED,
        "after a tool call began": CRASHED,
        "after a tool's result": CRASHED,
        "after the answer, before the result": CRASHED,
        "after the result": "answer",
    },
)
async def test_program_dies_in_a_turn(lab: FaultLab) -> dict[str, str]:
    stand_in, backend = await lab.backend_with_stand_in()
    points: Turns = {
        "before the message": (DIE,),
        "before any output": (WAIT, DIE),
        "after the first words": (WAIT, *delta("Hel"), DIE),
        "after a tool call began": (WAIT, *delta("Hel"), CALL, DIE),
        "after a tool's result": (WAIT, CALL, tool_result("toolu_1", "found"), DIE),
        "after the answer, before the result": (WAIT, *spoken("Hello."), DIE),
        "after the result": (*well(), DIE),
    }

    async def try_one(point: str) -> str:
        stand_in.plays(*points[point])
        turn = await backend.invoke_once("Hi")
        if point == "after the first words":
            assert turn.response == "Hel"
        if point == "after a tool's result":
            assert turn.tool_results[0]["result"] == "found"
        return ended(turn)

    return await each(tuple(points), try_one)


@fault(
    "turn",
    "the real program is killed in a turn",
    {
        "while the model is asked": CRASHED,
        "while the model writes": CRASHED,
        "while a tool runs": CRASHED,
    },
)
async def test_real_program_is_killed(lab: FaultLab) -> dict[str, str]:
    async def kill(*_: object) -> ToolResult:
        for session in backend._sessions:
            os.kill(session.pid or 0, signal.SIGKILL)
        return ToolResult.from_text("never read")

    async def killed_when_asked(_request: ModelRequest) -> Answer:
        await kill()
        return hang()

    never = asyncio.Event()
    writing = hold(say("one two", chunks=["one ", "two"]), never, after_pieces=1)
    script = {
        "while the model is asked": killed_when_asked,
        "while the model writes": writing,
        "while a tool runs": reply(say("I look."), call_tool("kb", {"query": "x"})),
    }
    backend = await lab.backend(await lab.api(), tool(kill))

    async def try_one(point: str) -> str:
        last: TurnEvent | None = None
        lab.model_says([script[point]])
        session = await backend.create_session()
        async for happened in session.stream("Hi"):
            if isinstance(happened, TextDelta) and "writes" in point:
                await kill()
            last = happened
        assert isinstance(last, TurnEnd)
        got = ended(last.result)
        lab.model_says([say("Here again.")])
        assert (await session.send("again")).response == "Here again."
        await session.close()
        return got

    return await each(tuple(script), try_one)


@fault("turn", "the real program is stopped (SIGSTOP) in a turn", "timeout exceeded")
async def test_real_program_is_stopped(lab: FaultLab) -> str:
    async def stopped_when_asked(_request: ModelRequest) -> Answer:
        for session in backend._sessions:
            os.kill(session.pid or 0, signal.SIGSTOP)
        return hang()

    from holodeck_backend_claude.claude.process import client

    lab.monkeypatch.setattr(client, "STOP_SECONDS", 0.5)
    backend = await lab.backend(await lab.api([stopped_when_asked]), execution={"llm_timeout": 3})
    got = ended(await backend.invoke_once("Hi"))
    lab.monkeypatch.setattr(client, "STOP_SECONDS", 5)
    return got


@fault(
    "turn",
    "emits what no version is known to emit",
    {
        "a message type": "answer",
        "a system subtype": "answer",
        "a kind of stream event": "answer",
        "a kind of content block": "answer",
        "further fields": "answer",
        "a control request": "answer",
        "a response nobody asked for": "answer",
    },
)
async def test_program_emits_unknown_messages(lab: FaultLab) -> dict[str, str]:
    hologram = {"type": "hologram", "data": [1]}
    unknown: Turns = {
        "a message type": (message("hologram", data=[1]),),
        "a system subtype": (message("system", subtype="hologram", data={"a": 1}),),
        "a kind of stream event": (event(hologram), event({"type": "content_block_start"})),
        "a kind of content block": (assistant(hologram),),
        "further fields": (message("system", subtype="status", status=None, more={"a": 1}),),
        "a control request": (
            message("control_request", request_id="r", request={"subtype": "hologram"}),
        ),
        "a response nobody asked for": (
            message("control_response", response={"request_id": "x", "subtype": "success"}),
        ),
    }
    turns = {
        what: (*started(), *steps, *spoken("Hello."), result("Hello."))
        for what, steps in unknown.items()
    }
    return await how_each_ends(lab, turns)


@fault(
    "turn",
    "emits known messages that lack what they need",
    {
        "an answer without content": CRASHED,
        "a result without a verdict": CRASHED,
        "a delta without its text": "answer",
        "an empty object": CRASHED,
        "a retry without numbers": "answer",
        "an answer that is null": CRASHED,
    },
)
async def test_program_emits_broken_messages(lab: FaultLab) -> dict[str, str]:
    empty: Step = ("say", {})
    piece = {"type": "content_block_delta", "delta": {"type": "text_delta"}}
    turns: Turns = {
        "an answer without content": (message("assistant", message={"id": "m"}),),
        "a result without a verdict": (message("result", subtype="success"),),
        "a delta without its text": (event(piece), event({"type": "message_start"}), *well()[1:]),
        "an empty object": (empty,),
        "a retry without numbers": (message("system", subtype="api_retry"), *well()[1:]),
        "an answer that is null": (message("assistant", message=None),),
    }
    return await how_each_ends(lab, turns)


@fault("turn", "writes lines that are no JSON", "answer")
async def test_program_writes_no_json(lab: FaultLab) -> str:
    stand_in, backend = await lab.backend_with_stand_in()
    noise: tuple[Step, ...] = (("raw", "[debug] x"), ("raw", ""), ("raw", "  12 monkeys"))
    stand_in.plays(WAIT, *noise, *started(), *noise, *spoken("Hello."), *noise, result("Hello."))
    return ended(await backend.invoke_once("Hi"))


@fault("turn", "writes a line of 5 MB", "answer")
async def test_program_writes_a_long_line(lab: FaultLab) -> str:
    stand_in, backend = await lab.backend_with_stand_in()
    stand_in.plays(WAIT, ("long_line", 5 * 2**20), *well()[1:])
    return ended(await backend.invoke_once("Hi"))


@fault("turn", "writes a line above the limit", CRASHED)
async def test_program_writes_a_line_above_the_limit(lab: FaultLab) -> str:
    lab.monkeypatch.setattr(options, "MAX_LINE_BYTES", 2**20)
    stand_in, backend = await lab.backend_with_stand_in()
    stand_in.plays(WAIT, ("long_line", 2 * 2**20), *well()[1:])
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    turn = await backend.invoke_once("Hi")
    assert "maximum buffer size" in (turn.error_detail or "")
    assert len(os.listdir("/proc/self/fd")) <= before  # noqa: PTH208
    return ended(turn)


@fault(
    "turn",
    "ends a turn without a result",
    {"leaves": CRASHED, "leaves with an error code": CRASHED},
)
async def test_program_gives_no_result(lab: FaultLab) -> dict[str, str]:
    turns: Turns = {
        "leaves": (*spoken("Hello."), ("leave", 0)),
        "leaves with an error code": (("stderr", "out of memory"), ("leave", 3)),
    }
    return await how_each_ends(lab, turns)


@fault(
    "turn",
    "goes on running, and says nothing more",
    {"hangs": "timeout exceeded", "closes its stdout": "timeout exceeded"},
)
async def test_program_says_nothing_more(lab: FaultLab) -> dict[str, str]:
    lab.monkeypatch.setattr("holodeck_backend_claude.claude.process.client.STOP_SECONDS", 0.5)
    stand_in, backend = await lab.backend_with_stand_in(execution={"llm_timeout": 1})
    ways: Turns = {
        "hangs": (("hang", None),),
        "closes its stdout": (("close_stdout", None), ("hang", None)),
    }

    async def try_one(way: str) -> str:
        stand_in.plays(WAIT, *delta("Hel"), *ways[way])
        turn = await backend.invoke_once("Hi")
        assert turn.response == "Hel"
        return ended(turn)

    return await each(tuple(ways), try_one)


@fault(
    "turn",
    "ends a turn with an error of its own",
    {
        "error_max_turns": "max_turns limit reached",
        "error_max_budget_usd": "max_budget_usd reached",
        "error_during_execution": "provider error: error_during_execution",
        "error_max_structured_output_retries": SPOILED,
        "error_of_tomorrow": "provider error: error_of_tomorrow",
    },
)
async def test_program_ends_with_an_error_subtype(lab: FaultLab) -> dict[str, str]:
    kinds = (
        "error_max_turns", "error_max_budget_usd", "error_during_execution",
        "error_max_structured_output_retries", "error_of_tomorrow",
    )  # fmt: skip
    turns: Turns = {
        kind: (
            *spoken("Hello."),
            result(None, subtype=kind, is_error=True, errors=["it went wrong"]),
            ("leave", 1),
        )
        for kind in kinds
    }
    return await how_each_ends(lab, turns)


@fault(
    "turn",
    "calls an error a success",
    {
        "with a status": "provider error: 500",
        "with a text only": "provider error: unknown",
        "an unknown subtype that is no error": "provider error: success_of_tomorrow",
    },
)
async def test_program_calls_an_error_a_success(lab: FaultLab) -> dict[str, str]:
    turns: Turns = {
        "with a status": (result("API Error: 500", is_error=True, api_error_status=500),),
        "with a text only": (result("Something broke", is_error=True),),
        "an unknown subtype that is no error": (
            *spoken("x"),
            result("x", subtype="success_of_tomorrow"),
        ),
    }
    return await how_each_ends(lab, turns)


@fault(
    "turn",
    "gives a result too many, or another's",
    {"twice": "answer, answer", "of another session": "answer, answer"},
)
async def test_program_gives_another_result(lab: FaultLab) -> dict[str, str]:
    """The second turn must not take the first one's left-over result for its own."""
    stand_in, backend = await lab.backend_with_stand_in()
    other = SESSION.replace("1", "2")
    turns: Turns = {
        "twice": (*well("one"), result("one"), *well("two")),
        "of another session": (
            *well("one")[:-1], result("one", session_id=other), *well("two"),
        ),
    }  # fmt: skip

    async def try_one(way: str) -> str:
        stand_in.plays(*turns[way])
        session = await backend.create_session()
        first, second = await session.run_turn("Hi"), await session.run_turn("Hi")
        assert (first.response, second.response) == ("one", "two")
        await session.close()
        return f"{ended(first)}, {ended(second)}"

    return await each(tuple(turns), try_one)


@fault("turn", "ends with an error code after a good result", "answer")
async def test_program_ends_badly_after_its_result(lab: FaultLab) -> str:
    stand_in, backend = await lab.backend_with_stand_in()
    stand_in.plays(*well(), ("leave", 9))
    return ended(await backend.invoke_once("Hi"))


@fault("turn", "has gone between two turns of a session: another one takes its place", "answer")
async def test_program_has_gone_between_two_turns(lab: FaultLab) -> str:
    stand_in, backend = await lab.backend_with_stand_in()
    stand_in.plays(*well(), ("stderr", "out of memory"), ("leave", 3))
    session = await backend.create_session()
    await session.send("Hi")
    return await outcome(session.send("And now?"))


@fault("turn", "a tool call of a turn ends the program", CRASHED)
async def test_tool_call_of_a_dying_program(lab: FaultLab) -> str:
    """The call that runs is cancelled; nobody waits for it."""
    cancelled = asyncio.Event()

    async def slow(_call: ToolCall) -> ToolResult:
        for session in backend._sessions:
            os.kill(session.pid or 0, signal.SIGKILL)
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    script = [call_tool("kb", {"query": "x"})]
    backend = await lab.backend(await lab.api(script), tool(slow))
    got = ended(await backend.invoke_once("Hi"))
    await asyncio.wait_for(cancelled.wait(), 5)
    return got
