"""An agent with a response format answers in that form, or says that it did not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holodeck_backend_claude.contract import BackendInitError, BackendSessionError
from holodeck_backend_claude.testing import (
    Answer,
    ModelRequest,
    call_tool,
    forever,
    hang,
    reply,
    say,
)
from tests.support.probes import Probe

from .lab import Lab

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["city", "people"],
    "additionalProperties": False,
}
ROME = {"city": "Rome", "people": 3}
GIVEN = call_tool("StructuredOutput", ROME)
LAST_WORDS = forever(say("That was it."))  # an older Claude Code asks once more


def only_words(text: str) -> list[Any]:
    """Three answers in words; whoever waits for a further one waits for ever."""
    return [say(text), say(text), say(text), forever(hang())]


async def ask(lab: Lab, script: Any, *probes: Probe, **said: Any) -> Any:
    api, backend = await lab.run(script, *probes, **{"response_format": SCHEMA, **said})
    return api, await backend.invoke_once("How many?")


@pytest.mark.parametrize(
    "script",
    [
        [GIVEN, LAST_WORDS],
        [reply(say("Here it is."), GIVEN), LAST_WORDS],
        [call_tool("StructuredOutput", {"city": "Rome"}), GIVEN, LAST_WORDS],
        [say("Three."), GIVEN, LAST_WORDS],
    ],
)
async def test_the_answer_is_of_the_form_and_its_json_is_the_response(
    lab: Lab, script: Any
) -> None:
    _, result = await ask(lab, script)
    assert result.error_reason is None
    assert result.structured_output == ROME
    assert json.loads(result.response) == ROME
    assert result.tool_calls == result.tool_results == []


async def test_the_agents_own_calls_are_listed_and_its_answer_is_none_of_them(lab: Lab) -> None:
    api, result = await ask(lab, [call_tool("kb", {"query": "x"}), GIVEN, LAST_WORDS], Probe("kb"))
    assert [call["name"] for call in result.tool_calls] == ["kb"]
    assert [end["result"] for end in result.tool_results] == ["found x"]
    assert result.structured_output == ROME
    [offered] = [t for t in api.requests[0].tools if t.name == "StructuredOutput"]
    assert offered.input_schema == SCHEMA


async def test_json_in_words_is_an_answer_of_the_form_too(lab: Lab) -> None:
    _, result = await ask(lab, only_words(json.dumps(ROME)))
    if result.is_error:  # an older Claude Code asks for the call and takes nothing else
        assert result.error_reason == "structured output missing"
    else:
        assert result.structured_output == ROME


async def test_words_are_an_error_and_the_model_is_not_asked_without_end(lab: Lab) -> None:
    _, result = await ask(lab, only_words("Three, I think."))
    assert result.error_reason == "structured output missing"
    assert result.structured_output is None
    assert result.response == "Three, I think."


async def test_an_answer_that_never_fits_is_an_error_that_says_why(lab: Lab) -> None:
    _, result = await ask(lab, forever(call_tool("StructuredOutput", {"city": "Rome"})))
    assert result.error_reason.startswith("structured output invalid: ")
    assert "people" in result.error_reason
    assert result.structured_output is None
    assert result.tool_calls == []


async def test_what_claude_code_cannot_check_is_checked_here(lab: Lab) -> None:
    pair = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"pair": pair, "mail": {"type": "string", "format": "email"}},
    }
    wrong = call_tool("StructuredOutput", {"pair": ["x", "y"]})
    _, result = await ask(lab, [wrong, LAST_WORDS], response_format=schema)
    assert result.error_reason == "structured output invalid: pair[0]: 'x' is not of type 'integer'"
    right = call_tool("StructuredOutput", {"pair": [1, "y"]})
    api, result = await ask(lab, [right, LAST_WORDS], response_format=schema)
    assert result.structured_output == {"pair": [1, "y"]}
    told = json.dumps(api.requests[0].body["tools"])
    assert "prefixItems" in told
    assert "format" in told


async def test_an_answer_on_the_last_allowed_turn_is_an_answer(lab: Lab) -> None:
    _, result = await ask(lab, [GIVEN, LAST_WORDS], settings={"max_turns": 1})
    assert result.error_reason is None
    assert result.structured_output == ROME


async def test_every_turn_of_a_session_is_of_the_form_and_streams_it_once(lab: Lab) -> None:
    def answer(request: ModelRequest) -> Answer:
        return (
            say("")
            if request.tool_results
            else reply(say("So: "), call_tool("StructuredOutput", ROME))
        )

    _, backend = await lab.run(answer, response_format=SCHEMA)
    session = await backend.create_session()
    assert (await session.send("1")).structured_output == ROME
    pieces = [piece async for piece in session.send_streaming("2")]
    assert "".join(pieces) == f"So: \n\n{json.dumps(ROME)}"


async def test_a_session_raises_what_invoke_once_returns(lab: Lab) -> None:
    _, backend = await lab.run(forever(say("Three.")), response_format=SCHEMA)
    session = await backend.create_session()
    with pytest.raises(BackendSessionError, match="structured output missing") as caught:
        await session.send("How many?")
    assert caught.value.result is not None


async def test_a_subagent_answers_in_words(lab: Lab) -> None:
    def answer(request: ModelRequest) -> Answer:
        if "You count." in request.system:
            return say("three")
        if any("three" in result.text for result in request.tool_results):
            return call_tool("StructuredOutput", ROME)
        if request.tool_results:
            return say("")
        arguments = {"description": "d", "prompt": "count", "subagent_type": "counter"}
        return call_tool("Agent", arguments)

    settings = {"agents": {"counter": {"description": "Counts", "prompt": "You count."}}}
    api, result = await ask(lab, answer, settings=settings)
    assert result.structured_output == ROME
    [inner] = [request for request in api.requests if "You count." in request.system]
    assert inner.tools == ()


async def test_a_file_that_is_no_schema_stops_the_start(lab: Lab) -> None:
    (lab.folder / "form.json").write_text("[]")
    api = await lab.api([])
    with pytest.raises(BackendInitError, match=r"form\.json: the response format is wrong"):
        await lab.backend(api, response_format="form.json")
