"""Tool calls: what reaches the tool, what the model gets back, and what the result reports."""

from __future__ import annotations

import asyncio

from holodeck_backend_claude.contract import ToolCall, ToolResult
from holodeck_backend_claude.testing import Usage, call_tool, reply, say
from tests.support.probes import Probe

from .lab import Lab


async def test_one_call_runs_the_tool_once_with_the_model_s_id(lab: Lab) -> None:
    kb = Probe()
    api, backend = await lab.run(
        [
            call_tool("kb_search", {"query": "refunds"}, call_id="call_7", usage=Usage(10, 4)),
            say("30 days.", usage=Usage(20, 6)),
        ],
        kb,
    )
    result = await backend.invoke_once("What is the refund policy?")
    assert result.response == "30 days."
    assert result.tool_calls == [
        {"name": "kb_search", "arguments": {"query": "refunds"}, "call_id": "call_7"}
    ]
    assert result.tool_results == [
        {"call_id": "call_7", "result": "found refunds", "is_error": False}
    ]
    assert result.num_turns == 2
    assert result.token_usage["input_tokens"] == 30
    assert result.token_usage["output_tokens"] == 10
    assert result.token_usage["total_tokens"] == 40
    [call] = kb.calls
    assert dict(call.arguments) == {"query": "refunds"}
    assert call.call_id == "call_7"
    assert call.session_id == result.session_id
    assert call.deadline is not None
    assert api.requests[1].body["messages"][2:] == [
        {
            "role": "assistant",
            "tool_calls": [
                {
                    "id": "call_7",
                    "type": "function",
                    "function": {"name": "kb_search", "arguments": '{"query": "refunds"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_7", "content": "found refunds"},
    ]


async def test_three_calls_of_one_answer_run_at_the_same_time(lab: Lab) -> None:
    together = asyncio.Barrier(3)

    async def meet(call: ToolCall) -> str:
        await together.wait()
        return f"found {call.arguments['query']}"

    api, backend = await lab.run(
        [
            reply(*(call_tool("kb_search", {"query": q}, call_id=f"id_{q}") for q in "abc")),
            say("Done."),
        ],
        Probe(behave=meet),
    )
    result = await backend.invoke_once("Look three times.")
    assert [call["call_id"] for call in result.tool_calls] == ["id_a", "id_b", "id_c"]
    assert {r["call_id"]: r["result"] for r in result.tool_results} == {
        "id_a": "found a", "id_b": "found b", "id_c": "found c",
    }  # fmt: skip
    assert {r.call_id for r in api.requests[1].tool_results} == {"id_a", "id_b", "id_c"}


async def test_a_chain_longer_than_semantic_kernel_s_own_limit_runs_to_its_end(lab: Lab) -> None:
    script = [call_tool("kb_search", {"query": str(i)}) for i in range(8)]
    _, backend = await lab.run([*script, say("Done.")], Probe())
    result = await backend.invoke_once("Look on.")
    assert result.response == "Done."
    assert [call["arguments"]["query"] for call in result.tool_calls] == list("01234567")
    assert result.num_turns == 9
    assert len({call["call_id"] for call in result.tool_calls}) == 8


async def test_a_failing_tool_is_an_error_result_and_the_model_goes_on(lab: Lab) -> None:
    def fail(_call: ToolCall) -> str:
        raise KeyError("no such document")

    api, backend = await lab.run(
        [call_tool("kb_search", {"query": "x"}, call_id="c1"), say("I could not look.")],
        Probe(behave=fail),
    )
    result = await backend.invoke_once("Look.")
    assert not result.is_error
    assert result.response == "I could not look."
    [outcome] = result.tool_results
    assert outcome["is_error"]
    assert "no such document" in outcome["result"]
    assert api.requests[1].tool_results[0].text == outcome["result"]


async def test_an_unknown_tool_is_answered_with_the_names_there_are(lab: Lab) -> None:
    kb = Probe()
    _, backend = await lab.run([call_tool("kb-seek", {"query": "x"}), say("Sorry.")], kb)
    result = await backend.invoke_once("Look.")
    assert [call["name"] for call in result.tool_calls] == ["kb-seek"]
    [outcome] = result.tool_results
    assert outcome["is_error"]
    assert "'kb-seek'" in outcome["result"]
    assert "kb_search" in outcome["result"]
    assert kb.calls == []
    assert not result.is_error


async def test_malformed_arguments_are_answered_and_not_guessed_at(lab: Lab) -> None:
    kb = Probe()
    api, backend = await lab.run(
        [
            call_tool("kb_search", "{'query': 'x'", call_id="c1"),
            call_tool("kb_search", '["x"]', call_id="c2"),
            say("Sorry."),
        ],
        kb,
    )
    result = await backend.invoke_once("Look.")
    assert kb.calls == []
    assert [(r["call_id"], r["is_error"]) for r in result.tool_results] == [
        ("c1", True), ("c2", True),
    ]  # fmt: skip
    assert "not valid JSON" in result.tool_results[0]["result"]
    assert "JSON list" in result.tool_results[1]["result"]
    assert api.requests[1].messages[-2].tool_calls[0].arguments == "{'query': 'x'"
    assert result.response == "Sorry."


async def test_arguments_are_the_tool_s_to_check_and_coerce(lab: Lab) -> None:
    schema = {
        "type": "object",
        "properties": {"limit": {"type": "integer"}},
        "required": ["limit"],
        "additionalProperties": False,
    }
    kb = Probe(behave=lambda c: repr(c.arguments["limit"]), schema=schema)
    _, backend = await lab.run(
        [
            call_tool("kb_search", {"limit": "5"}),
            call_tool("kb_search", {}),
            call_tool("kb_search", {"limit": 5, "other": 1}),
            say("Done."),
        ],
        kb,
    )
    result = await backend.invoke_once("Look.")
    assert [r["is_error"] for r in result.tool_results] == [False, True, True]
    assert result.tool_results[0]["result"] == "5"
    assert "limit" in result.tool_results[1]["result"]
    assert "other" in result.tool_results[2]["result"]


async def test_parameters_named_like_semantic_kernel_s_own_reach_the_tool(lab: Lab) -> None:
    names = [
        "settings",
        "kernel",
        "service",
        "arguments",
        "execution_settings",
        "self",
        "odata.top",
    ]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    given = {name: f"my {name}" for name in names}
    kb = Probe(schema=schema)
    api, backend = await lab.run([call_tool("kb_search", given), say("Done.")], kb)
    await backend.invoke_once("Look.")
    assert dict(kb.calls[0].arguments) == given
    assert api.requests[0].tools[0].input_schema == schema


async def test_a_call_without_arguments_or_id_gets_both(lab: Lab) -> None:
    kb = Probe(behave=lambda _: "ok", schema={"type": "object", "properties": {}})
    api, backend = await lab.run([call_tool("kb_search", "", call_id=""), say("Done.")], kb)
    result = await backend.invoke_once("Look.")
    [call] = result.tool_calls
    assert call["arguments"] == {}
    assert call["call_id"]
    assert api.requests[1].tool_results[0].call_id == call["call_id"]


async def test_names_with_hyphens_are_one_name(lab: Lab) -> None:
    a, b = Probe("kb-search-all"), Probe("search-all")
    _, backend = await lab.run(
        [
            reply(
                call_tool("kb-search-all", {"query": "1"}), call_tool("search-all", {"query": "2"})
            ),
            say("Done."),
        ],
        a,
        b,
    )
    result = await backend.invoke_once("Look.")
    assert [c["name"] for c in result.tool_calls] == ["kb-search-all", "search-all"]
    assert [len(a.calls), len(b.calls)] == [1, 1]


async def test_long_and_foreign_names_are_legal_on_the_wire_and_themselves_in_results(
    lab: Lab,
) -> None:
    name = "suche_über_alles_" + "sehr_" * 20 + "lang"
    api, backend = await lab.run(
        [lambda request: call_tool(request.tools[0].name, {"query": "x"}), say("Done.")],
        Probe(name),
    )
    result = await backend.invoke_once("Look.")
    wire = api.requests[0].tools[0].name
    assert len(wire) <= 64
    assert wire.isascii()
    assert [c["name"] for c in result.tool_calls] == [name]
    assert not result.tool_results[0]["is_error"]


async def test_a_long_result_with_unicode_reaches_the_model_whole(lab: Lab) -> None:
    text = "ż漢🙂 " * 50_000
    api, backend = await lab.run(
        [call_tool("kb_search", {"query": "x"}), say("Done.")],
        Probe(behave=lambda _: text),
        tool={"max_result_chars": 300_000},
    )
    result = await backend.invoke_once("Look.")
    assert result.tool_results[0]["result"] == text
    assert api.requests[1].tool_results[0].text == text


async def test_text_before_a_call_stays_in_the_history_and_is_not_the_answer(lab: Lab) -> None:
    api, backend = await lab.run(
        [reply(say("I look."), call_tool("kb_search", {"query": "x"})), say("Found."), say("Yes.")],
        Probe(),
    )
    session = await backend.create_session()
    assert (await session.send("Look.")).response == "Found."
    await session.send("Sure?")
    within, after = api.requests[1].messages, api.requests[2].messages
    assert [(m.role, m.text) for m in within] == [
        ("user", "Look."), ("assistant", "I look."), ("tool", ""),
    ]  # fmt: skip
    assert [(m.role, m.text) for m in after] == [
        ("user", "Look."), ("assistant", "I look."), ("tool", ""), ("assistant", "Found."),
        ("user", "Sure?"),
    ]  # fmt: skip


async def test_a_tool_that_must_not_fail_ends_the_run(lab: Lab) -> None:
    def fail(_call: ToolCall) -> ToolResult:
        return ToolResult.from_text("the database is gone", is_error=True)

    api, backend = await lab.run(
        [call_tool("kb_search", {"query": "x"}), say("never asked for")],
        Probe(behave=fail),
        tool={"on_error": "fail"},
    )
    result = await backend.invoke_once("Look.")
    assert result.is_error
    assert result.error_reason == "tool execution failed: kb_search"
    assert result.error_detail == "the database is gone"
    assert len(result.tool_calls) == len(result.tool_results) == 1
    assert len(api.requests) == 1


async def test_a_tool_can_ask_the_model_without_tools(lab: Lab) -> None:
    api = await lab.api([call_tool("kb_search", {"query": "x"}), say("A summary."), say("Done.")])
    asked: list[str] = []

    async def ask(call: ToolCall) -> str:
        asked.append(await backend._ask(f"Summarise {call.arguments['query']}"))
        return asked[-1]

    backend = await lab.backend(api, Probe(behave=ask))
    result = await backend.invoke_once("Look.")
    assert asked == ["A summary."]
    assert result.response == "Done."
    assert api.requests[1].tools == ()
    assert [m.text for m in api.requests[1].messages] == ["Summarise x"]
    assert result.num_turns == 2
