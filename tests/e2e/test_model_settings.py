"""What agent.yaml says about the model is on the wire, in the result, or refused."""

from __future__ import annotations

from typing import Any

import pytest

from holodeck_backend_claude.contract import BackendInitError
from holodeck_backend_claude.testing import (
    Answer,
    ModelRequest,
    Usage,
    fail,
    forever,
    say,
)

from .lab import MODEL, Lab

THINKING = {"extended_thinking": {"enabled": True, "budget_tokens": 5_000}}
LONG = {"extended_thinking": {"enabled": True, "budget_tokens": 60_000}}


async def asked(lab: Lab, *, settings: dict[str, Any], **model: Any) -> dict[str, Any]:
    """The body of the only request of a run."""
    api, backend = await lab.run([say("ok")], settings=settings, model=model)
    result = await backend.invoke_once("Hi")
    assert result.response == "ok"
    body: dict[str, Any] = api.requests[0].body
    return body


@pytest.mark.parametrize(
    ("settings", "model", "budget", "limit"),
    [
        (THINKING, {}, 5_000, 32_000),
        (THINKING, {"max_tokens": 6_000}, 5_000, 6_000),
        (THINKING, {"name": "claude-opus-4-6"}, 5_000, 64_000),
        (LONG, {}, 60_000, 64_000),
    ],
)
async def test_the_whole_budget_for_thinking_is_asked_for(
    lab: Lab, settings: dict[str, Any], model: dict[str, Any], budget: int, limit: int
) -> None:
    body = await asked(lab, settings=settings, **model)
    assert body["thinking"]["type"] == "enabled"
    assert body["thinking"]["budget_tokens"] == budget
    assert body["thinking"]["display"] == "summarized"
    assert body["max_tokens"] == limit


async def test_a_newer_model_decides_itself_how_long_it_thinks_and_that_is_named(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    body = await asked(lab, settings=THINKING, name="claude-opus-4-7")
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert "budget_tokens may have no effect with 'claude-opus-4-7'" in caplog.text


@pytest.mark.parametrize("effort", ["low", "medium", "high", "max"])
async def test_the_effort_is_on_the_wire(lab: Lab, effort: str) -> None:
    body = await asked(lab, settings={"effort": effort}, name="claude-opus-4-6")
    assert body["output_config"]["effort"] == effort


async def test_a_model_that_is_old_is_asked_and_no_newer_one(lab: Lab) -> None:
    assert (await asked(lab, settings={}, name="claude-opus-4-1"))["model"] == "claude-opus-4-1"


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"settings": {"effort": "low"}}, "claude.effort has no effect with 'claude-sonnet-4-5'"),
        (
            {"settings": {"effort": "low"}, "model": {"name": "claude-haiku-4-5-20251001"}},
            "has no effect with 'claude-haiku-4-5-20251001'",
        ),
        (
            {"settings": {"effort": "max"}, "model": {"name": "claude-opus-4-5"}},
            "'claude-opus-4-5' goes up to 'high'",
        ),
        (
            {"settings": {"agents": {"a": {"description": "d", "prompt": "p", "effort": "low"}}}},
            "claude.agents.a.effort has no effect with 'claude-sonnet-4-5'",
        ),
        ({"settings": THINKING, "model": {"max_tokens": 5_000}}, "counts the thinking too"),
        ({"settings": {"fallback_model": MODEL}}, "the model of the agent itself"),
        (
            {"settings": {"fallback_model": "claude-haiku-4-5"}, "execution": {"max_retries": 1}},
            "set it to 2 or more",
        ),
    ],
)
async def test_a_setting_that_would_have_no_effect_stops_the_start(
    lab: Lab, said: dict[str, Any], message: str
) -> None:
    api = await lab.api([])
    with pytest.raises(BackendInitError) as caught:
        await lab.backend(api, **said)
    assert message in str(caught.value)


async def test_an_overloaded_model_is_stood_in_for_and_the_result_says_by_whom(lab: Lab) -> None:
    def answer(request: ModelRequest) -> Answer:
        return fail(529, "overloaded") if request.model == MODEL else say("from the other")

    api, backend = await lab.run(
        answer,
        settings={"fallback_model": "claude-haiku-4-5"},
        execution={"max_retries": 2},
    )
    result = await backend.invoke_once("Hi")
    assert result.response == "from the other"
    assert result.model == "claude-haiku-4-5"
    assert result.error_reason is None
    assert [request.model for request in api.requests] == [MODEL] * 3 + ["claude-haiku-4-5"]


async def test_a_conversation_ends_at_its_budget_and_the_next_one_has_its_own(lab: Lab) -> None:
    costly = say("ok", usage=Usage(100_000, 10_000))  # 0.45 dollars
    api, backend = await lab.run(forever(costly), settings={"max_budget_usd": 0.5})
    session = await backend.create_session()
    assert (await session.run_turn("1")).error_reason is None
    over = await session.run_turn("2")
    assert over.error_reason == "max_budget_usd reached"
    assert over.cost_usd == pytest.approx(0.45)
    assert over.response == "ok"
    spent = await session.run_turn("3")
    assert (spent.error_reason, spent.num_turns) == ("max_budget_usd reached", 0)
    assert len(api.requests) == 2
    assert (await backend.invoke_once("1")).error_reason is None
