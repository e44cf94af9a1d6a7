"""Servers elsewhere: streamable HTTP, SSE and WebSocket, each against a real server on loopback."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AbstractAsyncContextManager
from importlib.metadata import version
from typing import Any

import pytest

from holodeck_backend_claude.config import MCPTool
from holodeck_backend_claude.contract import BackendInitError
from tests.support.mcp_network import Running, over_http, over_websocket

from .conftest import Bench

TRANSPORTS = ["http", "sse", "websocket"]

# Where mcp 1.26 cannot connect, it leaves streams of its own to the garbage collector.
pytestmark = (
    [
        pytest.mark.filterwarnings(
            "ignore:Exception ignored in.*MemoryObject:pytest.PytestUnraisableExceptionWarning"
        )
    ]
    if version("mcp") < "1.30"
    else []
)


def running(transport: str, **more: Any) -> AbstractAsyncContextManager[Running]:
    return over_websocket(**more) if transport == "websocket" else over_http(transport, **more)


def config(transport: str, url: str, **keys: Any) -> MCPTool:
    settings = {"name": "far", "description": "A far server.", "timeout": 5, "request_timeout": 5}
    return MCPTool.model_validate({**settings, "transport": transport, "url": url, **keys})


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_its_tools_are_called_with_the_headers(bench: Bench, transport: str) -> None:
    async with running(transport) as there:
        headers = {"Authorization": "Bearer tok-1234567890", "X-Team": "blue"}
        opened = await bench.open(config(transport, there.url, headers=headers))
        tools = {tool.name: tool for tool in opened.tools}
        assert (await tools["far_add"].call({"a": "2", "b": 3})).text == "5"
        assert there.requests
        for _method, sent in there.requests:
            assert sent["authorization"] == "Bearer tok-1234567890"
            assert sent["x-team"] == "blue"
        await opened.close()


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_progress_and_a_cancelled_call(bench: Bench, transport: str) -> None:
    told: list[Any] = []
    async with running(transport) as there:
        opened = await bench.open(config(transport, there.url, request_timeout=0.4))
        tools = {tool.name: tool for tool in opened.tools}
        result = await tools["far_slow"].call({}, report_progress=lambda *what: told.append(what))
        assert "did not finish within its limit of 0.4 s" in result.text
        assert told == [(1, 2, "half")]
        assert (await tools["far_add"].call({"a": 1, "b": 1})).text == "2"
        await opened.close()


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_server_that_is_gone_is_named_and_one_that_is_back_is_connected(
    bench: Bench, transport: str
) -> None:
    async with running(transport) as there:
        port = int(there.url.split(":")[2].split("/")[0])
        opened = await bench.open(config(transport, there.url))
        tools = {tool.name: tool for tool in opened.tools}
        await there.stop()
        result = await tools["far_add"].call({"a": 1, "b": 1})
        assert result.is_error
        assert "MCP server failed: far: " in result.text
    async with running(transport, port=port):
        assert (await tools["far_add"].call({"a": 1, "b": 1})).text == "2"
        await opened.close()


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_where_nobody_listens_says_so(bench: Bench, transport: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    scheme = "ws" if transport == "websocket" else "http"
    with pytest.raises(BackendInitError, match=r"MCP server failed: far: it cannot be reached"):
        await bench.open(config(transport, f"{scheme}://127.0.0.1:{port}/x"))


@pytest.mark.parametrize("transport", ["http", "sse"])
@pytest.mark.parametrize(
    ("status", "says"),
    [
        (401, "it answered 401 Unauthorized"),
        (404, "it answered 404 Not Found"),
        (503, "it answered 503 Service Unavailable"),
        (307, "it answered 307 Temporary Redirect to http://127.0.0.1:9/elsewhere"),
    ],
)
async def test_a_refusal_says_its_status(
    bench: Bench, transport: str, status: int, says: str
) -> None:
    async with over_http(transport, status=status) as there:
        with pytest.raises(BackendInitError, match=f"MCP server failed: far: {says}"):
            await bench.open(config(transport, there.url))


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_server_that_accepts_and_says_nothing_is_given_up_in_time(
    bench: Bench, transport: str
) -> None:
    held: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _r, w: held.append(w), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    scheme = "ws" if transport == "websocket" else "http"
    with pytest.raises(BackendInitError, match="MCP server failed: far: "):
        await bench.open(config(transport, f"{scheme}://127.0.0.1:{port}/x", timeout=0.3))
    for writer in held:
        writer.close()
    server.close()


@pytest.mark.parametrize(("said", "told"), [({}, True), ({"terminate_on_close": False}, False)])
async def test_whether_an_http_server_is_told_of_the_end(
    bench: Bench, said: dict[str, Any], told: bool
) -> None:
    async with over_http("http") as there:
        opened = await bench.open(config("http", there.url, **said))
        await opened.close()
        assert ("DELETE" in [method for method, _headers in there.requests]) is told


async def test_a_stream_that_is_silent_for_too_long_is_dead_and_the_next_call_reconnects(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    async with over_http("sse") as there:
        opened = await bench.open(config("sse", there.url, sse_read_timeout=0.3))
        tools = {tool.name: tool for tool in opened.tools}
        for _ in range(300):
            if "'far' was lost" in caplog.text:
                break
            await asyncio.sleep(0.01)
        assert "'far' was lost" in caplog.text
        assert (await tools["far_add"].call({"a": 1, "b": 1})).text == "2"
        await opened.close()


async def test_over_http_a_silent_stream_of_notices_is_dead_and_another_one_is_opened(
    bench: Bench,
) -> None:
    async with over_http("http") as there:
        opened = await bench.open(config("http", there.url, sse_read_timeout=0.3))
        async with asyncio.timeout(20):
            while [method for method, _headers in there.requests].count("GET") < 2:
                await asyncio.sleep(0.01)
        tools = {tool.name: tool for tool in opened.tools}
        assert (await tools["far_add"].call({"a": 1, "b": 1})).text == "2"
        await opened.close()


async def test_what_a_server_asks_of_its_client_is_declined(bench: Bench) -> None:
    async with over_http("http") as there:
        opened = await bench.open(config("http", there.url))
        tools = {tool.name: tool for tool in opened.tools}
        text = (await tools["far_asks"].call({})).text
        assert "Sampling not supported" in text
        assert "Elicitation not supported" in text
        assert text.rstrip().endswith("[]")
        await opened.close()


async def test_prompts_and_resources_where_they_are_asked_for(bench: Bench) -> None:
    async with over_http("http") as there:
        opened = await bench.open(config("http", there.url, load_prompts=True))
        tools = {tool.name: tool for tool in opened.tools}
        assert list(tools) == [
            "far_add", "far_slow", "far_asks", "far_prompt_greet", "far_list_resources",
            "far_read_resource",
        ]  # fmt: skip
        greet = tools["far_prompt_greet"]
        assert greet.description == (
            "Returns the messages of the prompt 'greet' of 'far'. How to greet somebody."
        )
        assert greet.schema["required"] == ["name"]
        assert (await greet.call({"name": "Ada"})).text == "[user]\nSay hello to Ada."
        listed = (await tools["far_list_resources"].call({})).text
        assert "note://today - today (text/plain): The note of today." in listed
        assert "note://{day} (fill in what is in braces) - note" in listed
        read = tools["far_read_resource"]
        assert (await read.call({"uri": "note://today"})).text == "Buy milk."
        assert (await read.call({"uri": "note://monday"})).text == "Nothing on monday."
        missing = await read.call({"uri": "nothing://here"})
        assert missing.is_error
        assert "The MCP server 'far' answered with an error" in missing.text
        assert (await read.call({"uri": "no uri"})).is_error
        assert all(tools[name].annotations.read_only for name in list(tools)[3:])
        await opened.close()


async def test_without_it_there_are_only_tools(bench: Bench) -> None:
    async with over_http("http") as there:
        opened = await bench.open(config("http", there.url))
        assert [tool.name for tool in opened.tools] == ["far_add", "far_slow", "far_asks"]
        await opened.close()
