"""Servers over HTTP that send too much, too little or nonsense: each costs its own call at most."""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any

import pytest

from holodeck_backend_claude.config import MCPTool
from holodeck_backend_claude.contract import BackendInitError
from holodeck_backend_claude.tools.mcp import http_session
from tests.support.mcp_http_faults import (
    FINE,
    GREETING,
    Answer,
    FaultyServer,
    events,
    faulty_server,
    result,
)

from .conftest import Bench

TOO_LONG = "it sent a message of over 67108864 bytes"
ENDLESS = Answer(then="endless")
ENDLESS_EVENTS = Answer("data: ", "text/event-stream", then="endless")


def config(server: FaultyServer, transport: str = "http", **keys: Any) -> MCPTool:
    settings = {"name": "far", "description": "A far server.", "timeout": 5, "request_timeout": 30}
    return MCPTool.model_validate({**settings, "transport": transport, "url": server.url, **keys})


class TestAnEndlessAnswer:
    @pytest.mark.parametrize("endless", [ENDLESS, ENDLESS_EVENTS])
    async def test_of_a_call_ends_the_connection_and_the_next_call_makes_another(
        self, bench: Bench, endless: Answer
    ) -> None:
        async with faulty_server({"tools/call": [endless, Answer(FINE)]}) as there:
            opened = await bench.open(config(there))
            assert TOO_LONG in (await opened.tools[0].call({})).text
            assert (await opened.tools[0].call({})).text == "fine"
            await opened.close()

    async def test_at_the_start_is_an_error(self, bench: Bench) -> None:
        async with faulty_server({"initialize": ENDLESS}) as there:
            with pytest.raises(BackendInitError, match=TOO_LONG):
                await bench.open(config(there))

    @pytest.mark.parametrize("over", ["http", "sse"])
    async def test_of_what_is_said_unasked_ends_the_connection(
        self, bench: Bench, over: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        place = "event: endpoint\ndata: /messages\n\ndata: "
        endless = Answer(place if over == "sse" else "data: ", "text/event-stream", then="endless")
        async with faulty_server({"GET": endless}, over=over) as there:
            if over == "sse":
                with pytest.raises(BackendInitError, match=TOO_LONG):
                    await bench.open(config(there, over))
                return
            opened = await bench.open(config(there))
            async with asyncio.timeout(20):
                while TOO_LONG not in caplog.text:
                    await asyncio.sleep(0.01)
            await opened.close()

    async def test_to_what_needs_no_answer_is_not_read(self, bench: Bench) -> None:
        async with faulty_server({"notifications/initialized": ENDLESS}) as there:
            opened = await bench.open(config(there))
            assert (await opened.tools[0].call({})).text == "fine"
            await opened.close()

    async def test_of_a_call_that_was_given_up_is_not_read_on(self, bench: Bench) -> None:
        silent = Answer(": wait\n\n", "text/event-stream", then="stay")
        async with faulty_server({"tools/call": [silent, Answer(FINE)]}) as there:
            opened = await bench.open(config(there, request_timeout=0.2))
            assert "within its limit of 0.2 s" in (await opened.tools[0].call({})).text
            async with asyncio.timeout(10):
                await there.gone.wait()
            assert there.got("notifications/cancelled")
            await opened.close()

    async def test_compressed_is_refused(self, bench: Bench) -> None:
        bomb = gzip.compress(bytes(2_000_000)).decode("latin-1")
        packed = Answer(bomb, headers={"content-encoding": "gzip"})
        async with faulty_server({"initialize": packed}) as there:
            with pytest.raises(BackendInitError, match=r"its answers are compressed \(gzip\)"):
                await bench.open(config(there))
            assert there.got("initialize")[0]["accept-encoding"] == "identity"


WRONG_ID = FINE.replace("{id}", "999")
NAMELESS = '{"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "who?"}}'
UNANSWERED = {
    "cut": (Answer("{", then="cut"), "its answer to tools/call broke off"),
    "a page": (Answer("<html>", "text/html"), "it answered tools/call with 'text/html'"),
    "empty": (Answer(), "Invalid JSON: EOF"),
    "202": (Answer(status=202), "it answered tools/call with 202 and nothing else"),
    "cut events": (events(then="cut"), "its answer to tools/call broke off"),
    "no event": (events(), "the stream of its answer to tools/call ended without one"),
    "another's": (Answer(WRONG_ID), "with what is not the answer to that"),
    "nameless": (Answer(NAMELESS), "an error that names no request: who?"),
    "no end": (events(FINE[:-1], then="stay"), "Invalid JSON: EOF"),
    "no JSON": (events("nonsense"), "the stream of its answer to tools/call ended without one"),
}


class TestACallWithoutAnAnswer:
    @pytest.mark.parametrize("case", UNANSWERED)
    async def test_fails_at_once_and_the_connection_stays(self, bench: Bench, case: str) -> None:
        answer, says = UNANSWERED[case]
        async with faulty_server({"tools/call": [answer, Answer(FINE)]}) as there:
            opened = await bench.open(config(there, request_timeout=60))
            failed = await opened.tools[0].call({})
            assert failed.is_error
            assert failed.text.startswith("The MCP server 'far' failed: ")
            assert says in failed.text
            assert (await opened.tools[0].call({})).text == "fine"
            assert len(there.got("initialize")) == 1
            await opened.close()

    async def test_at_the_start_says_what_came_instead(self, bench: Bench) -> None:
        async with faulty_server({"initialize": Answer("<html>", "text/html")}) as there:
            says = "it answered initialize with 'text/html' where JSON .* check that 'url'"
            with pytest.raises(BackendInitError, match=says):
                await bench.open(config(there))

    async def test_over_sse_fails_as_soon_as_what_came_is_no_answer(self, bench: Bench) -> None:
        wrong = Answer(FINE[:-1], "to the stream")
        async with faulty_server({"tools/call": wrong}, over="sse") as there:
            opened = await bench.open(config(there, "sse", request_timeout=60))
            assert "a form that is not the protocol's" in (await opened.tools[0].call({})).text
            await opened.close()

    async def test_half_a_sign_is_no_reason_to_fail(self, bench: Bench) -> None:
        halves = result({"content": [{"type": "text", "text": "a\ud83d b\\ud83d \U0001f600"}]})
        async with faulty_server({"tools/call": [Answer(halves), events(halves)]}) as there:
            opened = await bench.open(config(there))
            for _ in range(2):
                assert (await opened.tools[0].call({})).text == "a\ufffd b\\ud83d \U0001f600"
            await opened.close()


class TestAStreamThatBreaksOff:
    async def test_goes_on_where_the_server_can_go_on(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(http_session, "SHORTEST_PAUSE", 0.01)
        begun = Answer("id: 7\nretry: 0\ndata:\n\n", "text/event-stream")
        async with faulty_server({"tools/call": begun}) as there:
            opened = await bench.open(config(there))
            call_id = 2  # after initialize and tools/list
            there.said["GET"] = [events(FINE.replace("{id}", str(call_id)), then="stay")]
            assert (await opened.tools[0].call({})).text == "fine"
            resumed = there.got("GET")[-1]
            assert resumed["last-event-id"] == "7"
            assert resumed["mcp-session-id"] == "s1"
            assert resumed["mcp-protocol-version"] == GREETING["protocolVersion"]
            await opened.close()

    async def test_is_not_opened_again_at_the_pace_the_server_wants(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(http_session, "SHORTEST_PAUSE", 3600)
        again = Answer("retry: 0\n\n", "text/event-stream")
        async with faulty_server({"GET": again}) as there:
            opened = await bench.open(config(there))
            for _ in range(20):
                assert (await opened.tools[0].call({})).text == "fine"
            assert len(there.got("GET")) == 1
            await opened.close()


async def test_a_server_that_says_nothing_unasked_need_not_say_405(bench: Bench) -> None:
    async with faulty_server({"GET": Answer(status=404)}) as there:
        opened = await bench.open(config(there))
        while not there.got("GET"):
            await asyncio.sleep(0.01)
        assert (await opened.tools[0].call({})).text == "fine"
        assert len(there.got("initialize")) == 1
        await opened.close()


async def test_a_session_that_is_not_known_any_more_is_begun_anew(bench: Bench) -> None:
    async with faulty_server({"tools/call": [Answer(status=404), Answer(FINE)]}) as there:
        opened = await bench.open(config(there))
        failed = await opened.tools[0].call({})
        assert "it does not know the session any more" in failed.text
        assert (await opened.tools[0].call({})).text == "fine"
        assert len(there.got("initialize")) == 2
        assert not there.got("DELETE")
        await opened.close()


async def test_a_redirect_within_the_server_is_followed(bench: Bench) -> None:
    aside = Answer(status=307, headers={"location": "/mcp/"})
    async with faulty_server({"tools/call": [aside, Answer(FINE)]}) as there:
        opened = await bench.open(config(there))
        assert (await opened.tools[0].call({})).text == "fine"
        assert [each[":path"] for each in there.got("tools/call")] == ["/mcp", "/mcp/"]
        await opened.close()


async def test_over_sse_messages_go_to_no_other_server(bench: Bench) -> None:
    place = f"event: endpoint\ndata: http://127.0.0.1:9/{json.dumps('x')}\n\n"
    elsewhere = Answer(place, "text/event-stream", then="stay")
    async with faulty_server({"GET": elsewhere}, over="sse") as there:
        with pytest.raises(BackendInitError, match="messages go to another server than itself"):
            await bench.open(config(there, "sse"))
