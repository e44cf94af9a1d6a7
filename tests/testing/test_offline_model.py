"""The model of an offline run calls a tool with the question and quotes what came back."""

from __future__ import annotations

from typing import Any

import pytest

from holodeck_backend_claude.testing import (
    ModelRequest,
    Reply,
    RequestedCall,
    RequestedResult,
    RequestMessage,
    RequestTool,
    call_tool,
    offline_model,
)
from holodeck_backend_claude.testing.answers import Text

CLAUDE_CODE = {"user-agent": "claude-cli/2.1.332 (external, sdk-py)"}


def tool(name: str, *required: str, kind: str = "string", **schema: Any) -> RequestTool:
    properties = {key: {"type": kind, **schema} for key in (*required, "optional")}
    return RequestTool(
        name, "", {"type": "object", "properties": properties, "required": list(required)}
    )


def request(*tools: RequestTool, **changes: Any) -> ModelRequest:
    question = RequestMessage("user", "What is the refund policy?")
    return ModelRequest(**{"model": "m", "messages": (question,), "tools": tools, **changes})


def after_results(*results: RequestedResult) -> ModelRequest:
    history = (
        RequestMessage("user", "What is the refund policy?"),
        RequestMessage("assistant", "", (RequestedCall("t1", "kb_search", {}),)),
        RequestMessage("tool", tool_results=results),
    )
    return request(tool("kb_search", "query"), messages=history)


def said(answer: Reply) -> str:
    (part,) = answer.parts
    assert isinstance(part, Text)
    return "".join(part.pieces)


def test_the_first_tool_that_a_question_fills_is_called_with_the_question() -> None:
    tools = [tool("two", "query", "language"), tool("none"), tool("kb_search", "query")]
    answer = offline_model(request(*tools, tool("later", "query")))
    assert answer == call_tool("kb_search", {"query": "What is the refund policy?"})


def test_a_tool_that_asks_for_a_question_goes_before_one_that_asks_for_any_text() -> None:
    tools = [tool("weather", "city"), tool("faq", "question")]
    question = "What is the refund policy?"
    assert offline_model(request(*tools)) == call_tool("faq", {"question": question})
    assert offline_model(request(tools[0])) == call_tool("weather", {"city": question})


@pytest.mark.parametrize(
    "other",
    [
        tool("a", "count", kind="integer"),
        tool("a", "choice", enum=["x", "y"]),
        tool("a", "when", format="date-time"),
        tool("a", "command"),
        tool("a", "file_path"),
        tool("a", "filePath"),
        tool("a", "url"),
        tool("a", "sql"),
        RequestTool("a", "", {"type": "object", "required": ["not_described"]}),
        RequestTool("a", "", {"required": ["anything"], "properties": {"anything": True}}),
        RequestTool("a", "", {}),
    ],
)
def test_a_tool_that_no_question_fills_is_not_called_but_named(other: RequestTool) -> None:
    answer = said(offline_model(request(other, tool("mcp__server__other", "x", "y"))))
    assert answer.startswith("Offline: no model was called.")
    assert answer.endswith("none of them can be called with a question alone: a, other.")


def test_built_in_tools_of_claude_code_are_never_called() -> None:
    tools = [tool("WebSearch", "query"), tool("mcp__holodeck_tools__kb_search", "query")]
    answer = offline_model(request(*tools, headers=CLAUDE_CODE))
    assert answer == call_tool(tools[1].name, {"query": "What is the refund policy?"})
    alone = said(offline_model(request(tools[0], headers=CLAUDE_CODE)))
    assert alone == "Offline: no model was called. The agent has no tools."


def test_an_agent_without_tools_is_told_so() -> None:
    answer = said(offline_model(request()))
    assert answer == "Offline: no model was called. The agent has no tools."


def test_nothing_asked_means_nothing_called() -> None:
    answer = said(offline_model(request(tool("kb", "query"), messages=())))
    assert answer.endswith("but nothing was asked: kb.")


def test_the_passages_are_quoted_and_no_model_is_claimed() -> None:
    result = RequestedResult("t1", "30 days.\n", name="mcp__holodeck_tools__kb_search")
    assert said(offline_model(after_results(result))) == (
        "Offline: no model was called. The passages below are what the tool kb_search returned "
        "for your question.\n\n30 days."
    )


def test_long_passages_are_cut_between_words_and_the_cut_is_marked() -> None:
    passages = "word " * 1_000
    answer = said(offline_model(after_results(RequestedResult("t1", passages, name="kb"))))
    quoted, mark = answer.rsplit("\n", 1)
    assert quoted.endswith(" word word")
    assert len(quoted) < 1_700
    left = len(passages.strip()) - len(quoted.split("\n\n", 1)[1])
    assert mark == f"[… {left} more characters]"


def test_a_long_passage_without_spaces_is_cut_too() -> None:
    answer = said(offline_model(after_results(RequestedResult("t1", "語" * 5_000, name="kb"))))
    assert answer.endswith("語\n[… 3500 more characters]")


@pytest.mark.parametrize("text", ["No results found.", "", " \n"])
def test_an_empty_search_is_said_plainly(text: str) -> None:
    answer = said(offline_model(after_results(RequestedResult("t1", text, name="kb_search"))))
    assert answer == (
        "Offline: no model was called. The tool kb_search found nothing for your question."
    )


def test_a_failed_tool_is_said_plainly() -> None:
    result = RequestedResult("t1", "TimeoutError: no answer", is_error=True, name="kb_search")
    assert said(offline_model(after_results(result))) == (
        "Offline: no model was called. The tool kb_search failed: TimeoutError: no answer"
    )


def test_the_question_of_the_latest_turn_is_asked_and_answered() -> None:
    earlier = after_results(RequestedResult("t1", "30 days.", name="kb_search")).messages
    history = (
        *earlier,
        RequestMessage("assistant", "30 days."),
        RequestMessage("user", "And gift cards?"),
    )
    answer = offline_model(request(tool("kb_search", "query"), messages=history))
    assert answer == call_tool("kb_search", {"query": "And gift cards?"})
    history += (
        RequestMessage("assistant", "", (RequestedCall("t2", "kb_search", {}),)),
        RequestMessage("tool", tool_results=(RequestedResult("t2", "Never.", name="kb_search"),)),
    )
    answer = offline_model(request(tool("kb_search", "query"), messages=history))
    assert said(answer).endswith("\n\nNever.")
    assert "30 days" not in said(answer)


FORM = {"type": "object", "properties": {"urgent": {"type": "boolean"}}, "required": ["urgent"]}
ANSWER_TOOL = tool("StructuredOutput", "urgent", kind="boolean")


def test_an_answer_of_a_form_is_the_smallest_value_of_it() -> None:
    by_call = request(ANSWER_TOOL, headers=CLAUDE_CODE)
    assert offline_model(by_call, FORM) == call_tool("StructuredOutput", {"urgent": False})
    as_text = request(body={"response_format": {"type": "json_schema"}})
    assert said(offline_model(as_text, FORM)) == '{"urgent": false}'


def test_an_answer_of_a_form_comes_after_the_tools_and_once() -> None:
    search = tool("mcp__holodeck_tools__kb_search", "query")
    first = request(search, ANSWER_TOOL, headers=CLAUDE_CODE)
    assert offline_model(first, FORM).parts[0] == call_tool(
        search.name, {"query": "What is the refund policy?"}
    ).parts[0]  # fmt: skip
    searched = after_results(RequestedResult("t1", "30 days.", name=search.name)).messages
    second = request(ANSWER_TOOL, messages=searched, headers=CLAUDE_CODE)
    assert offline_model(second, FORM) == call_tool("StructuredOutput", {"urgent": False})
    given = after_results(RequestedResult("t2", "ok", name="StructuredOutput")).messages
    third = request(ANSWER_TOOL, messages=given, headers=CLAUDE_CODE)
    assert said(offline_model(third, FORM)) == "Offline: no model was called."


def test_a_request_without_a_form_is_answered_in_words_where_the_agent_has_one() -> None:
    assert said(offline_model(request(), FORM)).startswith("Offline: no model was called.")


def test_a_form_that_no_value_is_found_for_is_named_as_the_reason() -> None:
    hard = {**FORM, "properties": {"urgent": {"type": "string", "pattern": "^[0-9]+$"}}}
    answer = said(offline_model(request(body={"response_format": {}}), hard))
    assert answer.endswith("No answer of the response format could be made up from its schema.")


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ([{"type": "image"}], "The file that was sent was not looked at."),
        (
            [{"type": "image_url"}, {"type": "document"}],
            "The 2 files that were sent were not looked at.",
        ),
        (
            [{"type": "text", "text": "<file name='a.txt'>\nhello\n</file>"}],
            "The file that was sent was not looked at.",
        ),
    ],
)
def test_a_file_is_said_not_to_have_been_looked_at(
    blocks: list[dict[str, str]], words: str
) -> None:
    body = {"messages": [{"role": "user", "content": blocks}]}
    answer = said(offline_model(request(body=body)))
    assert answer == f"Offline: no model was called. {words} The agent has no tools."


def test_a_tool_is_asked_the_question_without_the_files() -> None:
    text = "<file name='a.txt'>\nhello\n</file>\nWhat is the refund policy?"
    messages = (RequestMessage("user", text),)
    answer = offline_model(request(tool("kb_search", "query"), messages=messages))
    assert answer == call_tool("kb_search", {"query": "What is the refund policy?"})
