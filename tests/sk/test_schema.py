"""The tools on the wire: names, descriptions and the adapters' schemas, unchanged."""

from __future__ import annotations

from typing import Any

from holodeck_backend_claude.testing import say
from tests.support.probes import Probe

from .lab import Lab

RICH: dict[str, Any] = {
    "type": "object",
    "description": "What to look for and where.",
    "properties": {
        "query": {"type": "string", "minLength": 1, "description": "The words."},
        "limit": {"type": ["integer", "null"], "default": None, "maximum": 50},
        "mode": {"enum": ["semantic", "keyword"], "description": "How."},
        "filter": {
            "type": "object",
            "properties": {"tags": {"type": "array", "items": {"type": "string"}}},
            "required": ["tags"],
            "additionalProperties": False,
        },
        "since": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
    },
    "required": ["query", "mode"],
    "additionalProperties": False,
}


async def test_the_schema_on_the_wire_is_the_adapter_s(lab: Lab) -> None:
    api, backend = await lab.run([say("Hi.")], Probe(schema=RICH))
    await backend.invoke_once("Hi")
    assert api.requests[0].body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "kb_search",
                "description": "Probe kb_search",
                "parameters": RICH,
            },
        }
    ]
    assert api.requests[0].body["tool_choice"] == "auto"


async def test_open_and_empty_schemas_stay_as_they_are(lab: Lab) -> None:
    free: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": True}
    nothing: dict[str, Any] = {"type": "object", "properties": {}}
    api, backend = await lab.run(
        [say("Hi.")], Probe("free", schema=free), Probe("nothing", schema=nothing)
    )
    await backend.invoke_once("Hi")
    assert [tool.input_schema for tool in api.requests[0].tools] == [free, nothing]


async def test_tools_are_offered_in_the_order_of_the_agent_in_every_request(lab: Lab) -> None:
    names = ["zebra", "ant", "mole", "bee"]
    api, backend = await lab.run([say("1"), say("2")], *(Probe(name) for name in names))
    session = await backend.create_session()
    await session.send("Hi")
    await session.send("Hi again")
    for request in api.requests:
        assert [tool.name for tool in request.tools] == names


async def test_an_agent_without_tools_sends_none(lab: Lab) -> None:
    api, backend = await lab.run([say("Hi.")])
    await backend.invoke_once("Hi")
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(api.requests[0].body)
