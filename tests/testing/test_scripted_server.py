"""A scripted server starts, serves, records, halts, breaks and stops as it should."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from holodeck_backend_claude.testing import (
    ModelRequest,
    Reply,
    ScriptedMessagesAPI,
    call_tool,
    cut,
    delay,
    forever,
    hang,
    hold,
    raw,
    reset,
    say,
)
from holodeck_backend_claude.testing.server import MAX_BODY

ASK: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hello?"}]}
STREAM = {**ASK, "stream": True}


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=30) as client:
        yield client


def address(api: ScriptedMessagesAPI) -> str:
    return f"{api.url}/v1/messages"


def texts(stream: str) -> str:
    events = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")]
    return "".join(event["delta"].get("text", "") for event in events if "delta" in event)


async def test_the_server_listens_on_loopback_only_while_it_runs(client: httpx.AsyncClient) -> None:
    api = ScriptedMessagesAPI(say("a"))
    with pytest.raises(RuntimeError, match="does not run; start it with 'async with'"):
        _ = api.url
    async with api:
        url = address(api)
        assert url.startswith("http://127.0.0.1:")
        assert (await client.post(url, json=ASK)).status_code == 200
        with pytest.raises(RuntimeError, match="runs already, at http"):
            await api.__aenter__()
    with pytest.raises(httpx.ConnectError):
        await client.post(url, json=ASK)


async def test_requests_stay_readable_after_the_end_and_a_restart_begins_anew(
    client: httpx.AsyncClient,
) -> None:
    api = ScriptedMessagesAPI([say("one")])
    for _ in range(2):
        async with api:
            assert (await client.post(address(api), json=ASK)).status_code == 200
        assert [request.last_user_text for request in api.requests] == ["Hello?"]


def test_one_server_serves_two_event_loops_one_after_the_other() -> None:
    api = ScriptedMessagesAPI([say("one")])

    async def ask() -> str:
        async with api, httpx.AsyncClient() as client:
            answer = await client.post(address(api), json=ASK)
            await api.wait_for_requests(1)
            return str(answer.json()["content"][0]["text"])

    assert [asyncio.run(ask()) for _ in range(2)] == ["one", "one"]


async def test_a_script_that_ended_says_so_and_the_server_knows(client: httpx.AsyncClient) -> None:
    async with ScriptedMessagesAPI([say("only")]) as api:
        await client.post(address(api), json=ASK)
        for _ in range(2):
            answer = await client.post(address(api), json=ASK)
            assert answer.status_code == 418
            assert "it had 1 answers" in answer.json()["error"]["message"]
        assert len(api.requests) == 3
        assert api.problems == [answer.json()["error"]["message"]]


async def test_a_script_that_raises_is_a_problem_of_the_script(client: httpx.AsyncClient) -> None:
    def answer(_request: ModelRequest) -> Reply:
        raise LookupError("no such passage")

    async with ScriptedMessagesAPI(answer) as api:
        assert (await client.post(address(api), json=ASK)).status_code == 418
        assert api.problems == ["the script raised LookupError: no such passage"]


async def test_a_held_answer_waits_at_the_piece_until_the_gate_opens(
    client: httpx.AsyncClient,
) -> None:
    gates = {"a": asyncio.Event(), "b": asyncio.Event()}
    answer = say("abc", chunks=["a", "b", "c"])
    for after, gate in enumerate(gates.values(), 1):
        answer = hold(answer, gate, after_pieces=after)
    seen = []
    async with (
        ScriptedMessagesAPI(answer) as api,
        client.stream("POST", address(api), json=STREAM) as stream,
    ):
        async for line in stream.aiter_lines():
            if piece := texts(line):
                seen.append((piece, [gate.is_set() for gate in gates.values()]))
                gates.get(piece, asyncio.Event()).set()
    assert seen == [("a", [False, False]), ("b", [True, False]), ("c", [True, True])]


async def test_a_held_answer_without_streaming_waits_too(client: httpx.AsyncClient) -> None:
    gate = asyncio.Event()
    async with ScriptedMessagesAPI(hold(say("a"), gate)) as api, asyncio.TaskGroup() as tasks:
        answer = tasks.create_task(client.post(address(api), json=ASK))
        await api.wait_for_requests(1)
        assert not answer.done()
        gate.set()
    assert answer.result().status_code == 200


@pytest.mark.parametrize(("after", "seen"), [(0, ""), (1, "a"), (2, "ab"), (3, "abc")])
async def test_a_cut_answer_arrives_up_to_the_cut_and_then_the_line_is_dead(
    client: httpx.AsyncClient, after: int, seen: str
) -> None:
    answer = cut(say("abc", chunks=["a", "b", "c"]), after_pieces=after)
    read = ""

    async def read_all(api: ScriptedMessagesAPI) -> None:
        nonlocal read
        async with client.stream("POST", address(api), json=STREAM) as stream:
            async for line in stream.aiter_lines():
                read += f"{line}\n"

    async with ScriptedMessagesAPI(answer) as api:
        with pytest.raises(httpx.RemoteProtocolError):
            await read_all(api)
    assert "message_start" in read
    assert "message_stop" not in read
    assert texts(read) == seen


async def test_a_cut_answer_without_streaming_breaks_in_its_middle(
    client: httpx.AsyncClient,
) -> None:
    async with ScriptedMessagesAPI(cut(say("abc"), after_pieces=0)) as api:
        with pytest.raises(httpx.RemoteProtocolError):
            await client.post(address(api), json=ASK)


async def test_delays_lose_nothing(client: httpx.AsyncClient) -> None:
    answer = delay(say("abc", chunks=["a", "b", "c"]), before=0.01, between=0.01)
    async with ScriptedMessagesAPI(answer) as api:
        assert texts((await client.post(address(api), json=STREAM)).text) == "abc"


async def test_closing_ends_hanging_and_held_answers_and_leaves_nothing_behind(
    client: httpx.AsyncClient,
) -> None:
    before = asyncio.all_tasks()
    held = hold(say("ab"), asyncio.Event(), after_pieces=0)
    late = delay(say("late"), before=3_600)
    async with ScriptedMessagesAPI([hang(), held, late]) as api:
        asked = []
        for count in range(1, 4):
            asked.append(asyncio.create_task(client.post(address(api), json=STREAM)))
            await api.wait_for_requests(count)
    failures = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(failure, httpx.RemoteProtocolError) for failure in failures), failures
    await client.aclose()
    assert asyncio.all_tasks() == before
    gc.collect()  # a socket left open would warn now


async def test_a_client_that_leaves_ends_its_answer(client: httpx.AsyncClient) -> None:
    left = asyncio.Event()

    async def answer(_request: ModelRequest) -> Reply:
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        return say("never")

    async with ScriptedMessagesAPI(answer) as api:
        asked = asyncio.create_task(client.post(address(api), json=ASK))
        await api.wait_for_requests(1)
        asked.cancel()
        await left.wait()
        assert api.problems == []


async def test_twenty_streams_at_once_do_not_mix(client: httpx.AsyncClient) -> None:
    together = asyncio.Barrier(20)

    async def answer(request: ModelRequest) -> Reply:
        await together.wait()
        return delay(say(request.last_user_text * 50), between=0.001)

    async with ScriptedMessagesAPI(answer) as api:

        async def ask(number: int) -> str:
            message = {"role": "user", "content": f"<{number}>"}
            answer = await client.post(address(api), json={**STREAM, "messages": [message]})
            return texts(answer.text)

        said = await asyncio.gather(*(ask(number) for number in range(20)))
    assert said == [f"<{number}>" * 50 for number in range(20)]


async def test_a_request_of_many_mebibytes_is_taken(client: httpx.AsyncClient) -> None:
    words = "x" * (20 * 1024 * 1024)
    async with ScriptedMessagesAPI(say("ok")) as api:
        body = {**ASK, "messages": [{"role": "user", "content": words}]}
        assert (await client.post(address(api), json=body)).status_code == 200
        assert len(api.requests[0].last_user_text) == len(words)


async def test_a_request_over_the_limit_is_refused_in_the_wire_format(
    client: httpx.AsyncClient,
) -> None:
    async with ScriptedMessagesAPI(say("ok")) as api:
        answer = await client.post(address(api), content=b"x" * (MAX_BODY + 1))
        assert answer.status_code == 413
        assert answer.json()["error"]["type"] == "request_too_large"


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ("{", "the request is not JSON"),
        ("[]", "the request is not a JSON object"),
        ('{"model": "m", "messages": [1]}', "the request cannot be read"),
        ('{"model": "m", "messages": [{"content": "a"}]}', "the request cannot be read"),
    ],
)
async def test_a_request_that_cannot_be_read_is_refused(
    client: httpx.AsyncClient, body: str, cause: str
) -> None:
    async with ScriptedMessagesAPI(say("ok")) as api:
        answer = await client.post(address(api), content=body)
        assert answer.status_code == 400
        assert answer.json()["error"]["message"].startswith(cause)


def tool(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "input_schema": {"type": "object", **schema}}


def called(call_id: str) -> dict[str, Any]:
    block = {"type": "tool_use", "id": call_id, "name": "a", "input": {}}
    return {"role": "assistant", "content": [block]}


def result(call_id: str) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": "r"}
    return {"role": "user", "content": [block]}


QUESTION = {"role": "user", "content": "Hello?"}


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"model": ""}, "model: missing"),
        ({"messages": []}, "messages: at least one message is required"),
        ({"tools": [tool("a"), tool("a")]}, "tools: the name 'a' is used 2 times"),
        ({"tools": [tool("a b")]}, "tools: the name 'a b' does not match"),
        ({"tools": [tool("a" * 65)]}, "does not match"),
        ({"tools": [tool("a", anyOf=[])]}, "the schema of 'a' has anyOf at its root"),
        ({"tools": [tool("a", type="string")]}, "the schema of 'a' is not of type object"),
        ({"messages": [QUESTION, called("1")]}, "messages.1: tool calls without a result"),
        ({"messages": [QUESTION, called("1"), QUESTION]}, "without a result right after them: 1"),
        ({"messages": [QUESTION, called("1"), result("2")]}, "without a result"),
        ({"messages": [QUESTION, result("2")]}, "without a call right before them: 2"),
        ({"messages": [result("2"), QUESTION]}, "messages.0: tool results without the tool calls"),
    ],
)
async def test_a_request_that_the_real_api_refuses_is_refused(
    client: httpx.AsyncClient, change: dict[str, Any], cause: str
) -> None:
    async with ScriptedMessagesAPI([say("ok")]) as api:
        answer = await client.post(address(api), json={**ASK, **change})
        assert answer.status_code == 400
        assert cause in answer.json()["error"]["message"]
        assert api.problems == [answer.json()["error"]["message"]]
        after = await client.post(address(api), json=ASK)
        assert after.status_code == 200, "a refused request takes no step of the script"


async def test_a_server_that_is_not_strict_lets_faulty_requests_pass(
    client: httpx.AsyncClient,
) -> None:
    async with ScriptedMessagesAPI(say("ok"), strict=False) as api:
        body = {**ASK, "tools": [tool("a"), tool("a")]}
        assert (await client.post(address(api), json=body)).status_code == 200


@pytest.mark.parametrize(
    ("offered", "asked", "sent"),
    [
        (["mcp__s__kb_search"], "kb_search", "mcp__s__kb_search"),
        (["kb_search", "mcp__s__kb_search"], "kb_search", "kb_search"),
        (["s-kb_search"], "kb_search", "s-kb_search"),
        (["mcp__a__kb_search", "mcp__b__kb_search"], "kb_search", "kb_search"),
        (["mcp__a__other_kb_search"], "kb_search", "kb_search"),
        (["mcp__mine__add", "mcp__other__add"], "mine_add", "mcp__mine__add"),
        (["mcp__my__own_add", "mcp__my_own__add"], "my_own_add", "my_own_add"),
        ([], "unknown", "unknown"),
    ],
)
async def test_a_tool_is_called_by_the_name_on_offer(
    client: httpx.AsyncClient, offered: list[str], asked: str, sent: str
) -> None:
    async with ScriptedMessagesAPI(forever(call_tool(asked))) as api:
        body = {**ASK, "tools": [tool(name) for name in offered]}
        answer = (await client.post(address(api), json=body)).json()
        assert answer["content"][0]["name"] == sent


async def test_two_servers_run_side_by_side(client: httpx.AsyncClient) -> None:
    async with ScriptedMessagesAPI(say("a")) as one, ScriptedMessagesAPI(say("b")) as two:
        assert one.url != two.url
        for api in (one, two):
            await client.post(address(api), json=ASK)
        assert len(one.requests) == len(two.requests) == 1


async def test_the_port_is_free_again_after_the_end() -> None:
    async with ScriptedMessagesAPI([]) as api:
        port = int(api.url.rpartition(":")[2])
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))


async def test_a_raw_body_is_sent_as_it_is() -> None:
    answer = raw("<html>", status=502, content_type="text/html")
    async with ScriptedMessagesAPI([answer]) as api, httpx.AsyncClient(base_url=api.url) as client:
        got = await client.post("/v1/messages", json=ASK)
    assert (got.status_code, got.text) == (502, "<html>")
    assert got.headers["content-type"] == "text/html"


async def test_a_reset_connection_has_no_answer() -> None:
    async with ScriptedMessagesAPI([reset()]) as api, httpx.AsyncClient(base_url=api.url) as client:
        with pytest.raises(httpx.ReadError):
            await client.post("/v1/messages", json=ASK)
