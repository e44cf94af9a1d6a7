"""Streams: every piece once, in order, as the model writes it, with the tools in between."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holodeck_backend_claude.contract import (
    BackendSessionError,
    TextDelta,
    ThinkingDelta,
    ToolEnd,
    ToolStart,
    TurnEnd,
)
from holodeck_backend_claude.testing import call_tool, cut, hold, reply, say
from tests.support.probes import Probe

from .lab import Lab


async def test_deltas_come_one_by_one_while_the_model_still_writes(lab: Lab) -> None:
    gate = asyncio.Event()
    _, backend = await lab.run([hold(say("Hello world", chunks=["Hel", "lo ", "world"]), gate,
                                     after_pieces=2)])  # fmt: skip
    session = await backend.create_session()
    seen = []
    async for piece in session.send_streaming("Hi"):
        seen.append(piece)
        if seen == ["Hel", "lo "]:
            gate.set()
    assert seen == ["Hel", "lo ", "world"]


async def test_events_come_in_the_order_in_which_things_happen(lab: Lab) -> None:
    _, backend = await lab.run(
        [
            reply(
                say("I look.", chunks=["I ", "look."]),
                call_tool("kb_search", {"query": "x"}, call_id="c1"),
            ),
            say("Found.", thinking="Hm."),
        ],
        Probe(),
    )
    session = await backend.create_session()
    events = [event async for event in session.stream("Look.")]
    assert events[:-1] == [
        TextDelta("I "),
        TextDelta("look."),
        ToolStart("c1", "kb_search", {"query": "x"}),
        ToolEnd("c1", "kb_search", "found x", is_error=False),
        ThinkingDelta("Hm."),
        TextDelta("Found."),
    ]
    assert isinstance(events[-1], TurnEnd)
    assert events[-1].result.response == "Found."
    assert events[-1].result.session_id == session.session_id


async def test_a_tool_s_start_is_reported_before_the_tool_ends(lab: Lab) -> None:
    gate = asyncio.Event()

    async def wait(_call: Any) -> str:
        await gate.wait()
        return "ok"

    _, backend = await lab.run(
        [call_tool("kb_search", {"query": "x"}), say("Done.")], Probe(behave=wait)
    )
    session = await backend.create_session()
    kinds = []
    async for event in session.stream("Look."):
        kinds.append(type(event).__name__)
        if isinstance(event, ToolStart):
            gate.set()
    assert kinds == ["ToolStart", "ToolEnd", "TextDelta", "TurnEnd"]


async def test_a_stream_that_fails_yields_what_there_was_and_then_raises(lab: Lab) -> None:
    answer = cut(say("Hello world", chunks=["Hel", "lo ", "world"]), after_pieces=2)
    _, backend = await lab.run([answer])
    session = await backend.create_session()
    seen: list[str] = []

    async def read() -> None:
        async for piece in session.send_streaming("Hi"):
            seen.append(piece)

    with pytest.raises(BackendSessionError) as caught:
        await read()
    assert seen == ["Hel", "lo "]
    assert caught.value.result is not None
    assert caught.value.result.response == "Hello "


async def test_a_failed_turn_ends_the_typed_stream_without_an_exception(lab: Lab) -> None:
    _, backend = await lab.run([cut(say("Hello"), after_pieces=1)])
    session = await backend.create_session()
    events = [event async for event in session.stream("Hi")]
    assert isinstance(events[-1], TurnEnd)
    assert events[-1].result.error_reason == "provider error: connection lost"


async def test_leaving_a_stream_early_stops_the_turn_and_keeps_what_was_said(lab: Lab) -> None:
    never = asyncio.Event()
    answer = hold(say("One two three", chunks=["One ", "two ", "three"]), never, after_pieces=2)
    api, backend = await lab.run([answer, say("Four.")])
    session = await backend.create_session()
    async for piece in session.send_streaming("Count."):
        if piece == "two ":
            break
    assert (await session.send("Go on.")).response == "Four."
    assert [(m.role, m.text) for m in api.requests[1].messages] == [
        ("user", "Count."), ("assistant", "One two "), ("user", "Go on."),
    ]  # fmt: skip


async def test_a_stream_nobody_reads_to_its_end_does_not_block_the_next_turn(lab: Lab) -> None:
    _, backend = await lab.run([say("One two three"), say("Four.")])
    session = await backend.create_session()
    kept = session.stream("Count.")
    assert await anext(kept) == TextDelta("One two ")
    assert (await session.send("Go on.")).response == "Four."
    rest = [event async for event in kept]
    assert isinstance(rest[-1], TurnEnd)
    assert rest[-1].result.response == "One two three"
