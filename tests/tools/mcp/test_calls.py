"""Calls of a server's tools: one request each, its answer mapped, and a crash survived."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from holodeck_backend_claude.calls import failed_server
from holodeck_backend_claude.contract import ImageContent, ResourceContent, TextContent
from holodeck_backend_claude.tools.mcp import server

from .conftest import Bench

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)


async def until(holds: Callable[[], object]) -> None:
    """Return once something holds that another process does."""
    for _ in range(300):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never held")


class TestAnAnswer:
    async def test_arguments_go_as_they_are_and_are_coerced_where_the_schema_says_so(
        self, bench: Bench
    ) -> None:
        tools = await bench.tools(bench.raw())
        sent = {"text": "5", "extra": None, "deep": {"none": None, "list": [None, 1]}}
        assert json.loads((await tools["raw_echo"].call(sent)).text) == sent
        await tools["raw_die"].call({"code": "4"})
        assert bench.got("tools/call")[-1]["params"]["arguments"] == {"code": 4}

    async def test_every_kind_of_content_is_mapped(self, bench: Bench) -> None:
        data = base64.b64encode(PNG).decode()
        content: list[dict[str, Any]] = [
            {"type": "text", "text": "words"},
            {"type": "image", "data": data, "mimeType": "image/png"},
            {"type": "audio", "data": data, "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "a://b", "text": "# A", "mimeType": "text/x"}},
            {"type": "resource", "resource": {"uri": "a://c", "blob": data}},
            {"type": "resource_link", "uri": "a://d", "name": "d", "mimeType": "text/csv"},
        ]
        tools = await bench.tools(bench.raw())
        result = await tools["raw_show"].call({"content": content, "structured": {"a": [1]}})
        assert result.content == (
            TextContent("words"),
            ImageContent(PNG, "image/png"),
            TextContent("[audio (audio/wav)]"),
            ResourceContent("a://b", "# A", "text/x"),
            TextContent("[resource a://c (application/octet-stream)]"),
            TextContent("[resource_link a://d (text/csv)]"),
        )
        assert result.structured == {"a": [1]}
        assert not result.is_error

    async def test_structured_content_alone_is_shown_as_text(self, bench: Bench) -> None:
        tools = await bench.tools(bench.raw())
        result = await tools["raw_show"].call({"structured": {"total": 3}})
        assert json.loads(result.text) == {"total": 3}
        assert result.structured == {"total": 3}
        assert (await tools["raw_show"].call({})).text == "The tool finished and returned nothing."

    async def test_an_error_result_is_one_with_secrets_masked(self, bench: Bench) -> None:
        tools = await bench.tools(bench.raw())
        result = await tools["raw_fail"].call({})
        assert result.is_error
        assert "no such thing" in result.text
        assert "AAAABBBB" not in result.text
        assert failed_server(result) is None

    async def test_an_error_of_the_protocol_names_the_server(self, bench: Bench) -> None:
        tools = await bench.tools(bench.raw())
        result = await tools["raw_refuse"].call({})
        assert result.is_error
        assert result.text == "The MCP server 'raw' answered with an error: that is not allowed"

    async def test_an_answer_in_another_form_is_an_error_and_the_next_call_works(
        self, bench: Bench
    ) -> None:
        tools = await bench.tools(bench.raw())
        result = await tools["raw_misanswer"].call({})
        assert result.is_error
        assert "answered tools/call in a form that is not the protocol's: content.0" in result.text
        assert "ok" in (await tools["raw_echo"].call({"text": "ok"})).text

    async def test_progress_is_reported(self, bench: Bench) -> None:
        told: list[Any] = []
        tools = await bench.tools(bench.raw())
        await tools["raw_progress"].call({}, report_progress=lambda *what: told.append(what))
        assert told == [(1, 4, "a quarter")]

    async def test_the_server_learns_of_no_folder_of_ours(self, bench: Bench) -> None:
        tools = await bench.tools(bench.raw())
        assert json.loads((await tools["raw_roots"].call({})).text) == {"roots": []}

    async def test_many_calls_at_once_get_their_own_answers(self, bench: Bench) -> None:
        tools = await bench.tools(bench.raw(concurrency=64))
        calls = [tools["raw_echo"].call({"text": str(n)}) for n in range(100)]
        results = await asyncio.gather(*calls)
        assert [json.loads(r.text)["text"] for r in results] == [str(n) for n in range(100)]


class TestACallThatIsGivenUp:
    async def test_by_its_limit_names_the_tool_and_reaches_the_server(self, bench: Bench) -> None:
        tools = await bench.tools(bench.raw(request_timeout=0.2))
        result = await tools["raw_hang"].call({})
        assert result.text == "tool 'raw_hang' did not finish within its limit of 0.2 s"
        await until(lambda: bench.got("notifications/cancelled"))
        (cancelled,) = bench.got("notifications/cancelled")
        assert cancelled["params"]["requestId"] == bench.got("tools/call")[0]["id"]
        assert "ok" in (await tools["raw_echo"].call({"text": "ok"})).text

    async def test_by_the_caller_reaches_the_server(self, bench: Bench) -> None:
        tools = await bench.tools(bench.raw())
        call = asyncio.create_task(tools["raw_hang"].call({}))
        await until(lambda: bench.got("tools/call"))
        call.cancel()
        await asyncio.wait({call})
        assert call.cancelled()
        await until(lambda: bench.got("notifications/cancelled"))


class TestACrash:
    async def test_is_an_error_that_names_the_server_and_the_next_call_reconnects(
        self, bench: Bench, caplog: pytest.LogCaptureFixture
    ) -> None:
        tools = await bench.tools(bench.raw())
        result = await tools["raw_die"].call({"code": 9})
        assert result.text == "MCP server failed: raw: its process ended with exit code 9"
        assert failed_server(result) == "raw"
        assert "again" in (await tools["raw_echo"].call({"text": "again"})).text
        assert len(bench.got("initialize")) == 2
        assert "connected again" in caplog.text

    async def test_sends_no_call_a_second_time(self, bench: Bench) -> None:
        tools = await bench.tools(bench.raw())
        await tools["raw_die"].call({})
        await tools["raw_echo"].call({"text": "x"})
        assert [m["params"]["name"] for m in bench.got("tools/call")] == ["die", "echo"]

    async def test_ends_all_calls_that_wait_and_one_connection_serves_those_that_follow(
        self, bench: Bench
    ) -> None:
        tools = await bench.tools(bench.raw())
        waiting = [asyncio.create_task(tools["raw_hang"].call({})) for _ in range(3)]
        await until(lambda: len(bench.got("tools/call")) == 3)
        await tools["raw_die"].call({})
        assert {failed_server(result) for result in await asyncio.gather(*waiting)} == {"raw"}
        calls = [tools["raw_echo"].call({"text": str(n)}) for n in range(4)]
        assert not any(result.is_error for result in await asyncio.gather(*calls))
        assert len(bench.got("initialize")) == 2

    async def test_between_two_calls_is_not_noticed_by_the_second(
        self, bench: Bench, caplog: pytest.LogCaptureFixture
    ) -> None:
        tools = await bench.tools(bench.raw())
        first = json.loads((await tools["raw_env"].call({})).text)["pid"]
        os.kill(first, signal.SIGKILL)
        await until(lambda: "'raw' was lost: its process was ended by signal 9" in caplog.text)
        second = await tools["raw_env"].call({})
        assert json.loads(second.text)["pid"] != first
        assert [m["params"]["name"] for m in bench.got("tools/call")] == ["env", "env"]

    async def test_of_a_server_that_does_not_come_back_is_told_with_the_next_attempt(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(server, "FIRST_PAUSE", 30.0)
        lives = bench.folder / "lives"
        lives.write_text("1")
        tools = await bench.tools(bench.raw({"lives": str(lives), "stderr": "no space left\n"}))
        await tools["raw_die"].call({})
        for _ in range(2):
            result = await tools["raw_echo"].call({"text": "x"})
            assert "MCP server failed: raw: its process ended with exit code 7" in result.text
            assert "no space left" in result.text
        result = await tools["raw_echo"].call({"text": "x"})
        assert "could not be reached again; the next attempt is due in " in result.text
        assert lives.read_text() == "-2"  # started three times, and not once more

    async def test_while_it_comes_back_slowly_a_call_that_is_given_up_does_not_stop_it(
        self, bench: Bench
    ) -> None:
        tools = await bench.tools(bench.raw())
        await tools["raw_die"].call({})
        call = asyncio.create_task(tools["raw_echo"].call({"text": "x"}))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait({call})
        assert "y" in (await tools["raw_echo"].call({"text": "y"})).text
        assert len(bench.got("initialize")) == 2


async def test_closing_while_a_call_waits_ends_the_call(bench: Bench) -> None:
    opened = await bench.open(bench.raw())
    tools = {tool.name: tool for tool in opened.tools}
    call = asyncio.create_task(tools["raw_hang"].call({}))
    await until(lambda: bench.got("tools/call"))
    await opened.close()
    assert (await call).text == "MCP server failed: raw: the agent closed the connection"
