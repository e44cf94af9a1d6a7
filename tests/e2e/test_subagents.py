"""Subagents: what they get, how they are called, and what a result says of their work."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from holodeck_backend_claude.claude.settings import SubagentConfig
from holodeck_backend_claude.contract import (
    BackendInitError,
    TextDelta,
    ToolCall,
    ToolEnd,
    ToolResult,
    ToolStart,
    TurnEvent,
)
from holodeck_backend_claude.sessions import read_turn
from holodeck_backend_claude.testing import (
    Answer,
    ModelRequest,
    ScriptedMessagesAPI,
    Usage,
    call_tool,
    reply,
    say,
)
from tests.support.probes import Probe

from .lab import Lab

PROMPT = "You find things."
FINDER: dict[str, Any] = {"description": "Finds things", "prompt": PROMPT}


def hand_over(to: str | None = "finder", **more: Any) -> Any:
    named = {"subagent_type": to} if to else {}
    arguments = {"description": "find it", "prompt": "find x", **named, **more}
    return call_tool("Agent", arguments, call_id="toolu_outer")


def model(request: ModelRequest, *, start: Any = None, inner: str | None = "toolu_inner") -> Answer:
    """The agent hands the question over; the subagent calls a tool, then says what it found."""
    if PROMPT in request.system:
        if request.tool_results:
            return say("the subagent's words", usage=Usage(100, 50))
        call = call_tool("kb_search", {"query": "x"}, call_id=inner, usage=Usage(200, 60))
        return call if request.tools else say("the subagent has no tools")
    return say("the answer") if request.tool_results else start or hand_over()


def subagents(api: ScriptedMessagesAPI) -> list[ModelRequest]:
    return [request for request in api.requests if PROMPT in request.system]


def own_names(request: ModelRequest) -> set[str]:
    return {tool.name.rsplit("__", 1)[-1] for tool in request.tools}


async def run(lab: Lab, *probes: Probe, start: Any = None, **finder: Any) -> Any:
    api = await lab.api(lambda request: model(request, start=start))
    settings = {"agents": {"finder": {**FINDER, **finder}}}
    backend = await lab.backend(api, *(probes or (Probe(),)), settings=settings)
    return api, await backend.invoke_once("Where is x?")


async def test_a_subagents_call_reaches_our_tool_and_the_result_says_whose_it_was(
    lab: Lab,
) -> None:
    probe = Probe()
    _, result = await run(lab, probe, tools=["kb_search"])
    assert result.error_reason is None
    assert result.response == "the answer"
    assert [dict(call.arguments) for call in probe.calls] == [{"query": "x"}]
    outer, inner = result.tool_calls
    assert (outer["name"], outer["call_id"]) == ("Agent", "toolu_outer")
    assert "parent_call_id" not in outer
    assert inner == {
        "name": "kb_search",
        "arguments": {"query": "x"},
        "call_id": "toolu_inner",
        "parent_call_id": "toolu_outer",
    }
    found, handed_back = result.tool_results
    assert found == {
        "call_id": "toolu_inner",
        "result": "found x",
        "is_error": False,
        "parent_call_id": "toolu_outer",
    }
    assert "the subagent's words" in handed_back["result"]
    assert "parent_call_id" not in handed_back


async def test_usage_and_cost_include_the_subagent_and_turns_are_the_agents(lab: Lab) -> None:
    numbers = itertools.count()

    def answer(request: ModelRequest) -> Answer:  # a call id is never used twice
        arguments = {"description": "d", "prompt": "find x", "subagent_type": "finder"}
        start = call_tool("Agent", arguments, call_id=f"toolu_{next(numbers)}")
        return model(request, start=start, inner=None)

    api = await lab.api(answer)
    backend = await lab.backend(api, Probe(), settings={"agents": {"finder": FINDER}})
    session = await backend.create_session()
    for _ in range(2):  # what the SDK adds up over a conversation is told of one turn
        result = await session.send("Where is x?")
        assert result.num_turns == 2
        assert result.token_usage["input_tokens"] == 2 * 10 + 200 + 100
        assert result.token_usage["output_tokens"] == 2 * 5 + 60 + 50
        assert result.token_usage["total_tokens"] == 320 + 120
        assert result.cost_usd == pytest.approx((320 * 3 + 120 * 15) / 1e6)


async def test_events_carry_the_parent_and_a_subagents_words_are_not_streamed(lab: Lab) -> None:
    api = await lab.api(model)
    backend = await lab.backend(api, Probe(), settings={"agents": {"finder": FINDER}})
    session = await backend.create_session()
    events: list[TurnEvent] = []
    await read_turn(session.stream("Where is x?"), events.append)
    starts = [(e.call_id, e.parent_call_id) for e in events if isinstance(e, ToolStart)]
    assert starts == [("toolu_outer", None), ("toolu_inner", "toolu_outer")]
    ends = [(e.call_id, e.parent_call_id) for e in events if isinstance(e, ToolEnd)]
    assert ends == [("toolu_inner", "toolu_outer"), ("toolu_outer", None)]
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "the answer"


@pytest.mark.parametrize(
    ("tools", "offered"),
    [
        (None, {"kb_search", "other"}),
        (["kb_search"], {"kb_search"}),
        (["mcp__holodeck_tools__other"], {"other"}),
        ([], set()),
    ],
)
async def test_a_subagent_gets_the_tools_it_names_and_no_other(
    lab: Lab, tools: list[str] | None, offered: set[str]
) -> None:
    api, result = await run(lab, Probe(), Probe("other"), tools=tools)
    assert result.response == "the answer"
    assert own_names(api.requests[0]) == {"Agent", "kb_search", "other"}
    assert {frozenset(own_names(request)) for request in subagents(api)} == {frozenset(offered)}


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        (["kb_serch"], "claude.agents.finder.tools names 'kb_serch' (did you mean 'kb_search'?)"),
        (["Bash"], "claude.agents.finder.tools names 'Bash', which the agent does not have"),
    ],
)
async def test_a_tool_that_the_agent_does_not_have_stops_the_start(
    lab: Lab, tools: list[str], message: str
) -> None:
    api = await lab.api(model)
    settings = {"agents": {"finder": {**FINDER, "tools": tools}}}
    with pytest.raises(BackendInitError) as caught:
        await lab.backend(api, Probe(), settings=settings)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["Agent", "Task"])
def test_an_agent_file_whose_subagent_could_start_subagents_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match=f"cannot start subagents; remove '{name}'"):
        SubagentConfig.model_validate({**FINDER, "tools": [name]})


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("inherit", "claude-sonnet-4-5"),
        ("sonnet", "claude-sonnet-4-5"),
        ("haiku", "claude-haiku-"),
        ("claude-haiku-4-5", "claude-haiku-4-5"),
        ("claude-opus-4-1", "claude-opus-4-1"),  # no newer one takes its place
    ],
)
async def test_a_subagents_model_is_the_one_that_is_asked(lab: Lab, said: str, asked: str) -> None:
    api, result = await run(lab, model=said)
    assert {request.model.startswith(asked) for request in subagents(api)} == {True}
    assert result.model == "claude-sonnet-4-5"


async def test_a_subagent_stops_at_its_own_limit_and_the_agent_goes_on(lab: Lab) -> None:
    api, result = await run(lab, max_turns=1)
    assert len(subagents(api)) == 1
    assert result.response == "the answer"
    assert result.error_reason is None


async def test_a_subagents_effort_is_on_the_wire(lab: Lab) -> None:
    api, _ = await run(lab, model="claude-opus-4-6", effort="low")
    assert {r.body["output_config"]["effort"] for r in subagents(api)} == {"low"}


async def test_a_prompt_file_is_the_system_prompt(lab: Lab) -> None:
    (lab.folder / "finder.md").write_text(f"{PROMPT} In the file.")
    settings = {"agents": {"finder": {"description": "Finds", "prompt_file": "finder.md"}}}
    api = await lab.api(model)
    backend = await lab.backend(api, Probe(), settings=settings)
    await backend.invoke_once("Where is x?")
    assert all("In the file." in request.system for request in subagents(api))
    assert len(subagents(api)) == 2


@pytest.mark.parametrize("kind", [None, "general-purpose", "Explore", "Plan", "claude", "fork"])
async def test_a_subagent_that_is_not_in_the_file_is_not_there(lab: Lab, kind: str | None) -> None:
    api, result = await run(lab, start=hand_over(kind))
    assert len(api.requests) == 2
    [refused] = result.tool_results
    assert refused["is_error"]
    assert "Available agents: finder" in refused["result"]


async def test_the_model_is_told_of_the_subagents_in_the_file_and_of_no_other(lab: Lab) -> None:
    api, _ = await run(lab)
    first = str(api.requests[0].body)
    assert "- finder: Finds things" in first
    for builtin in ("- Explore", "- Plan", "- general-purpose", "- claude", "- statusline"):
        assert builtin not in first


@pytest.mark.parametrize("asked", [{"run_in_background": True}, {}])
async def test_the_agent_waits_for_a_subagent(lab: Lab, asked: Mapping[str, Any]) -> None:
    gate = asyncio.Event()

    async def wait(_call: ToolCall) -> ToolResult:
        await gate.wait()
        return ToolResult.from_text("found")

    api = await lab.api(lambda request: model(request, start=hand_over(**asked)))
    backend = await lab.backend(
        api, Probe("kb_search", wait), settings={"agents": {"finder": FINDER}}
    )
    turn = asyncio.create_task(backend.invoke_once("Where is x?"))
    while len(api.requests) < 2:
        await asyncio.wait({turn}, timeout=0.01)
    assert all(not r.tool_results for r in api.requests)
    gate.set()
    result = await turn
    assert [r["call_id"] for r in result.tool_results] == ["toolu_inner", "toolu_outer"]
    assert "the subagent's words" in result.tool_results[1]["result"]


async def test_two_subagents_at_once_keep_their_calls_apart(lab: Lab) -> None:
    def answer(request: ModelRequest) -> Answer:
        if PROMPT in request.system:
            if request.tool_results:
                return say("done")
            word = "a" if "find a" in request.last_user_text else "b"
            return call_tool("kb_search", {"query": word}, call_id=f"toolu_in_{word}")
        if request.tool_results:
            return say("the answer")
        return reply(
            *(
                call_tool(
                    "Agent",
                    {"description": "d", "prompt": f"find {word}", "subagent_type": "finder"},
                    call_id=f"toolu_{word}",
                )
                for word in "ab"
            )
        )

    api = await lab.api(answer)
    backend = await lab.backend(api, Probe(), settings={"agents": {"finder": FINDER}})
    result = await backend.invoke_once("Where are a and b?")
    parents = {c["call_id"]: c.get("parent_call_id") for c in result.tool_calls}
    assert parents == {
        "toolu_a": None,
        "toolu_b": None,
        "toolu_in_a": "toolu_a",
        "toolu_in_b": "toolu_b",
    }
    assert result.response == "the answer"


async def test_a_subagent_sees_nothing_of_the_host(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".claude" / "agents").mkdir(parents=True)
    (home / ".claude" / "CLAUDE.md").write_text("CANARY memory")
    (home / ".claude" / "agents" / "spy.md").write_text("---\nname: spy\n---\nCANARY")
    (tmp_path / "CLAUDE.md").write_text("CANARY project")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    api, _ = await run(lab)
    assert len(subagents(api)) == 2
    assert "CANARY" not in str([request.body for request in api.requests])


@pytest.mark.parametrize(
    "more", [{"model": "opus"}, {"isolation": "worktree"}, {"run_in_background": True}]
)
async def test_the_model_cannot_choose_what_agent_yaml_says_of_a_subagent(
    lab: Lab, more: dict[str, Any]
) -> None:
    api, result = await run(lab, start=hand_over(**more))
    assert result.response == "the answer"
    assert result.tool_results[0]["result"] == "found x"
    assert {request.model for request in subagents(api)} == {"claude-sonnet-4-5"}
    assert result.permission_denials == []
