"""From the SDK's messages to a result, for what no scripted server can make Claude Code send."""

from __future__ import annotations

from typing import Any

import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from holodeck_backend_claude.claude.turns.turn import Turn
from holodeck_backend_claude.claude.turns.usage import Spent
from holodeck_backend_claude.contract import TextDelta


def verdict(**changes: Any) -> ResultMessage:
    fields: dict[str, Any] = {
        "subtype": "success",
        "duration_ms": 5,
        "duration_api_ms": 4,
        "is_error": False,
        "num_turns": 1,
        "session_id": "s-1",
        "total_cost_usd": 0.5,
        "usage": {"input_tokens": 1, "output_tokens": 2},
        "result": "Hello.",
    }
    return ResultMessage(**{**fields, **changes})


def text(words: str, *, message_id: str = "m1", model: str = "claude") -> AssistantMessage:
    return AssistantMessage(content=[TextBlock(text=words)], model=model, message_id=message_id)


def delta(words: str) -> StreamEvent:
    event = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": words}}
    return StreamEvent(uuid="u", session_id="s-1", event=event)


def start(message_id: str = "m1") -> StreamEvent:
    event = {"type": "message_start", "message": {"id": message_id, "usage": {"input_tokens": 3}}}
    return StreamEvent(uuid="u", session_id="s-1", event=event)


def fed(turn: Turn, *messages: object) -> list[object]:
    return [event for message in messages for event in turn.feed(message)]


def test_a_message_that_came_without_deltas_is_given_out_once() -> None:
    assert fed(Turn({}), text("Hello."), verdict()) == [TextDelta("Hello.")]


def test_a_message_that_came_in_deltas_is_not_given_out_again() -> None:
    turn = Turn({})
    assert fed(turn, start(), delta("Hel"), delta("lo."), text("Hello."), verdict()) == [
        TextDelta("Hel"),
        TextDelta("lo."),
    ]
    assert turn.result().response == "Hello."


def test_unknown_messages_are_passed_over() -> None:
    turn = Turn({})
    assert fed(turn, object(), SystemMessage(subtype="from the future", data={}), None) == []


def test_no_verdict_is_never_a_success() -> None:
    turn = Turn({})
    fed(turn, text("Hello."))
    result = turn.result()
    assert result.is_error
    assert result.error_reason == "subprocess terminated unexpectedly"
    assert result.response == "Hello."


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"subtype": "error_max_turns", "is_error": True}, "max_turns limit reached"),
        ({"subtype": "error_max_budget_usd", "is_error": True}, "max_budget_usd reached"),
        (
            {"subtype": "error_of_the_future", "is_error": True},
            "provider error: error_of_the_future",
        ),
        ({"subtype": "error_of_the_future"}, "provider error: error_of_the_future"),
        ({"is_error": True}, "provider error: unknown"),
        ({"is_error": True, "api_error_status": 503}, "provider error: 503"),
        ({"stop_reason": "refusal"}, "refused"),
    ],
)
def test_every_verdict_but_success_is_an_error(changes: dict[str, Any], reason: str) -> None:
    turn = Turn({})
    fed(turn, text("Hello."), verdict(**changes))
    assert turn.result().is_error
    assert turn.result().error_reason == reason


def test_what_claude_code_says_in_the_models_place_is_not_the_answer() -> None:
    turn = Turn({})
    said = text(
        "API Error: 529 overloaded, key sk-ant-api03-abcdefghijklmnopqrst", model="<synthetic>"
    )
    assert fed(turn, said, verdict(is_error=True, api_error_status=529)) == []
    result = turn.result()
    assert result.response == ""
    assert result.error_detail is not None
    assert "529 overloaded" in result.error_detail
    assert "abcdefghijklmnop" not in result.error_detail


def test_cost_is_that_of_the_turn_and_not_of_the_conversation() -> None:
    turn = Turn({}, before=Spent(cost_usd=0.3))
    fed(turn, verdict(total_cost_usd=0.5))
    assert turn.result().cost_usd == pytest.approx(0.2)
    assert turn.after.cost_usd == 0.5


def test_a_subagents_words_are_not_the_answer_and_its_calls_carry_the_parent() -> None:
    turn = Turn({})
    sub = AssistantMessage(
        content=[TextBlock(text="inner"), ToolUseBlock(id="t2", name="x", input={})],
        model="claude",
        parent_tool_use_id="t1",
    )
    [event] = fed(turn, sub)
    assert event.parent_call_id == "t1"  # type: ignore[attr-defined]
    assert turn.result().response == ""


def test_blocks_without_text_are_named_in_tool_results() -> None:
    turn = Turn({})
    content: Any = [{"type": "text", "text": "a"}, {"type": "image", "source": {}}]
    fed(turn, UserMessage(content=[ToolResultBlock(tool_use_id="t1", content=content)]))
    assert turn.result().tool_results[0]["result"] == "a\n[image]"
