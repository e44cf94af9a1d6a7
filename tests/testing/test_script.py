"""The vocabulary of scripts: what is said, in which pieces, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from holodeck_backend_claude.testing import (
    Reply,
    Usage,
    call_tool,
    cut,
    delay,
    fail,
    forever,
    hang,
    hold,
    reply,
    say,
)
from holodeck_backend_claude.testing.answers import split
from holodeck_backend_claude.testing.playback import Playback
from holodeck_backend_claude.testing.request import ModelRequest

REQUEST = ModelRequest(model="m")


def test_a_text_is_split_into_pieces_that_join_to_it() -> None:
    text = "ab cd 日本語 \n" * 200
    pieces = split(text)
    assert "".join(pieces) == text
    assert 1 < len(pieces) <= 32
    assert split("") == ()


def test_chunks_that_do_not_join_to_the_text_are_refused() -> None:
    assert say("abc", chunks=["a", "bc"]).parts == say("abc", chunks=["a", "", "bc"]).parts
    with pytest.raises(ValueError, match="do not join to the text 'abc'"):
        say("abc", chunks=["a", "b"])


def test_the_stop_reason_follows_from_the_answer_unless_given() -> None:
    assert say("a").stopped_by == "end_turn"
    assert call_tool("a").stopped_by == "tool_use"
    assert reply(say("a"), call_tool("b")).stopped_by == "tool_use"
    assert say("a", stop_reason="max_tokens").stopped_by == "max_tokens"


def test_a_reply_keeps_the_order_of_its_parts() -> None:
    whole = reply(say("a", thinking="t"), call_tool("b"), call_tool("c"), usage=Usage(output=9))
    assert [type(part).__name__ for part in whole.parts] == ["Thinking", "Text", *["ToolUse"] * 2]
    assert whole.usage.output == 9


@pytest.mark.parametrize(
    "part",
    [
        say("a", usage=Usage(output=9)),
        say("a", stop_reason="max_tokens"),
        delay(say("a"), before=1),
        cut(say("a"), after_pieces=0),
    ],
)
def test_a_reply_refuses_parts_with_settings_that_it_would_lose(part: Reply) -> None:
    with pytest.raises(ValueError, match="belong to the whole reply"):
        reply(part, call_tool("b"))


@pytest.mark.parametrize("after", [-1, 3])
def test_a_cut_or_hold_outside_the_answer_is_refused(after: int) -> None:
    answer = say("ab", chunks=["a", "b"])
    with pytest.raises(ValueError, match=f"after_pieces is {after}, but the answer has 2 pieces"):
        cut(answer, after_pieces=after)
    with pytest.raises(ValueError, match="the answer has 2 pieces"):
        hold(answer, asyncio.Event(), after_pieces=after)


def test_raw_arguments_stay_as_they_are() -> None:
    (part,) = call_tool("a", "{not json").parts
    assert "".join(part.pieces) == "{not json"
    (part,) = call_tool("a", {"query": "é"}).parts
    assert "".join(part.pieces) == '{"query": "é"}'
    (part,) = call_tool("a", "").parts
    assert part.pieces == ()


async def test_a_sequence_gives_one_answer_per_request_and_then_says_that_it_ended() -> None:
    playback = Playback([say("one"), fail(500), hang()])
    assert await playback.answer(REQUEST) == say("one")
    assert await playback.answer(REQUEST) == fail(500)
    assert await playback.answer(REQUEST) == hang()
    with pytest.raises(Exception, match="it had 3 answers, and this request is one more"):
        await playback.answer(REQUEST)


async def test_forever_answers_every_further_request() -> None:
    playback = Playback([say("one"), forever(say("more"))])
    said = [await playback.answer(REQUEST) for _ in range(4)]
    assert said == [say("one"), say("more"), say("more"), say("more")]


async def test_functions_sync_or_async_answer_from_the_request() -> None:
    def answer(request: ModelRequest) -> Reply:
        return say(request.model)

    async def answer_later(request: ModelRequest) -> Reply:
        return say(request.model * 2)

    assert await Playback([answer, answer_later]).answer(REQUEST) == say("m")
    whole_script = Playback(answer_later)
    assert [await whole_script.answer(REQUEST) for _ in range(2)] == [say("mm"), say("mm")]


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (lambda _request: 1 / 0, "the script raised ZeroDivisionError: division by zero"),
        (lambda _request: "text", "the script returned 'text', which is no answer"),
    ],
)
async def test_a_function_that_fails_is_named(function: Callable[..., Any], problem: str) -> None:
    with pytest.raises(Exception, match=problem):
        await Playback(function).answer(REQUEST)


def test_what_is_no_step_is_refused_at_once() -> None:
    not_steps: Any = [say("a"), "b"]
    with pytest.raises(TypeError, match="step 2 of the script is 'b'"):
        Playback(not_steps)
    text: Any = "hello"
    with pytest.raises(TypeError, match="step 1 of the script is 'h'"):
        Playback(text)
    with pytest.raises(ValueError, match="step 1 of the script is forever"):
        Playback([forever(say("a")), say("b")])
