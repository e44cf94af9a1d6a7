"""An agent with a response format answers in that form on Semantic Kernel, too."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holodeck_backend_claude.contract import BackendInitError, TextDelta, TurnEvent
from holodeck_backend_claude.sessions import read_turn
from holodeck_backend_claude.testing import call_tool, say
from tests.support.probes import Probe

from .lab import Lab

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["city", "people"],
    "additionalProperties": False,
}
ROME = {"city": "Rome", "people": 3}


async def test_the_schema_is_on_the_wire_and_the_answer_is_data(lab: Lab) -> None:
    api, backend = await lab.run([say(json.dumps(ROME, indent=2))], response_format=SCHEMA)
    result = await backend.invoke_once("How many?")
    assert result.structured_output == ROME
    assert json.loads(result.response) == ROME
    assert api.requests[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
    }


@pytest.mark.parametrize(
    ("changes", "strict"),
    [
        ({}, True),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema"}, True),
        ({"required": ["city"]}, False),
        ({"additionalProperties": True}, False),
        ({"properties": {"city": {"type": "string", "minLength": 2}, "people": {}}}, False),
        ({"properties": {"city": {"type": "object"}, "people": {}}}, False),
        ({"properties": {"city": {"$ref": "#/$defs/C"}, "people": {}}, "$defs": {"C": {}}}, True),
        ({"properties": {"city": {"type": "array", "items": True}, "people": {}}}, False),
    ],
)
async def test_strict_is_asked_for_where_the_api_takes_it(
    lab: Lab, changes: dict[str, Any], strict: bool
) -> None:
    api, backend = await lab.run([say("{}")], response_format={**SCHEMA, **changes})
    await backend.invoke_once("How many?")
    sent = api.requests[0].body["response_format"]["json_schema"]
    assert sent["strict"] is strict
    assert "$schema" not in sent["schema"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("Three, I think.", "structured output missing"),
        ('{"city": "Rome"}', "structured output invalid: 'people' is a required property"),
    ],
)
async def test_an_answer_of_another_form_is_an_error(lab: Lab, answer: str, reason: str) -> None:
    _, backend = await lab.run([say(answer)], response_format=SCHEMA)
    result = await backend.invoke_once("How many?")
    assert result.error_reason == reason
    assert result.structured_output is None
    assert result.response == answer


async def test_tools_work_and_every_turn_of_a_session_is_of_the_form(lab: Lab) -> None:
    script = [call_tool("kb", {"query": "x"}), say(json.dumps(ROME)), say("{}")]
    api, backend = await lab.run(script, Probe("kb"), response_format=SCHEMA)
    session = await backend.create_session()
    events: list[TurnEvent] = []
    result = await read_turn(session.stream("How many?"), events.append)
    assert result.structured_output == ROME
    assert [call["name"] for call in result.tool_calls] == ["kb"]
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == json.dumps(ROME)
    assert all("response_format" in request.body for request in api.requests)
    assert (await session.run_turn("And now?")).error_reason.startswith("structured output invalid")


async def test_an_agent_without_one_sends_none(lab: Lab) -> None:
    api, backend = await lab.run([say("Hello.")])
    assert (await backend.invoke_once("Hi")).structured_output is None
    assert "response_format" not in api.requests[0].body


async def test_a_file_that_is_no_schema_stops_the_start(lab: Lab) -> None:
    (lab.folder / "form.json").write_text("[]")
    api = await lab.api([])
    with pytest.raises(BackendInitError, match=r"form\.json: the response format is wrong"):
        await lab.backend(api, response_format="form.json")
