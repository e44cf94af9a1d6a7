"""Answers over stdio that cannot be read: the call that waits for one fails at once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holodeck_backend_claude.config import MCPTool

from .conftest import Bench

SAY = {"name": "say", "inputSchema": {"type": "object"}}
ECHO = {"name": "echo", "inputSchema": {"type": "object"}}
NOT_THE_FORM = "The MCP server 'raw' failed: it answered tools/call in a form that is not"


def saying(bench: Bench, **keys: Any) -> MCPTool:
    return bench.raw({"tools": [SAY, ECHO]}, request_timeout=60, **keys)


def answer(text: str) -> str:
    content = f'{{"content": [{{"type": "text", "text": "{text}"}}]}}'
    return f'{{"jsonrpc": "2.0", "id": {{id}}, "result": {content}}}'


DEEP = f'{{"content": [], "structuredContent": {{"a": {"[" * 300}{"]" * 300}}}}}'
UNREADABLE = {
    "cut": (answer("x")[:-1], "Invalid JSON: EOF while parsing an object"),
    "cut, no version": ('{"id": {id}, "result": {', "Invalid JSON"),
    "cut before its id": ('{"result": {"content": [', "Invalid JSON"),
    "deep": (f'{{"jsonrpc": "2.0", "id": {{id}}, "result": {DEEP}}}', "recursion limit exceeded"),
    "no object": ('{"id": "{id}", "result": 5, "jsonrpc": "2.0"}', "neither a result nor an"),
    "id last": ('{"result": [], "jsonrpc": "2.0", "id": {id}}', "neither a result nor an error"),
    "nameless": ('{"jsonrpc": "2.0", "id": null, "error": {"message": "who?"}}', "who?"),
}


@pytest.mark.parametrize("case", UNREADABLE)
async def test_an_answer_that_cannot_be_read_fails_its_call_at_once(
    bench: Bench, case: str
) -> None:
    line, says = UNREADABLE[case]
    tools = await bench.tools(saying(bench))
    failed = await tools["raw_say"].call({"line": line})
    assert failed.is_error
    assert failed.text.startswith(NOT_THE_FORM)
    assert says in failed.text
    assert (await tools["raw_echo"].call({"text": "on"})).text == '{"text": "on"}'
    assert len(bench.got("initialize")) == 1


@pytest.mark.parametrize(
    "noise", ['{"jsonrpc": "2.0", "method": "x", "params": [1', "{}", '{"a": "result"}', "[1, 2]"]
)
async def test_what_is_no_answer_fails_no_call(bench: Bench, noise: str) -> None:
    tools = await bench.tools(saying(bench))
    said = await tools["raw_say"].call({"line": f"{noise}\n{answer('fine')}"})
    assert said.text == "fine"


@pytest.mark.parametrize(
    ("sent", "comes"),
    [
        (r"a\ud83d", "a\ufffd"),
        (r"\uDE00b", "\ufffdb"),
        (r"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (r"\\ud83d \ud800", "\\ud83d \ufffd"),
    ],
)
async def test_half_a_sign_becomes_the_one_for_what_is_missing(
    bench: Bench, sent: str, comes: str
) -> None:
    tools = await bench.tools(saying(bench))
    assert (await tools["raw_say"].call({"line": answer(sent)})).text == comes


async def test_that_tools_changed_is_told_once(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    change = json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    tools = await bench.tools(saying(bench))
    await tools["raw_say"].call({"line": "\n".join([change, change, change, answer("x")])})
    told = [each.levelname for each in caplog.records if "tools changed" in each.getMessage()]
    assert told == ["INFO", "DEBUG", "DEBUG"]
