"""A Messages API that refuses, breaks off, is not there, or answers what it should not."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
from collections.abc import Mapping
from typing import Any

import pytest

from holodeck_backend_claude.contract import Retrying, TextDelta, TurnEnd
from holodeck_backend_claude.testing import (
    Answer,
    call_tool,
    cut,
    delay,
    fail,
    forever,
    hang,
    raw,
    reply,
    reset,
    say,
)
from tests.faults.lab import FaultLab, each, ended, found, tool
from tests.faults.registry import fault

LOST = "provider error: connection lost"
AUTHENTICATION = "authentication failed"
TIMED_OUT = "timeout exceeded"


async def one_by_one(lab: FaultLab, scripts: Mapping[str, Any], **said: Any) -> dict[str, str]:
    """How a turn of one session ends for each script; the session outlives all of them."""
    backend = await lab.backend(await lab.api(), **said)
    session = await backend.create_session()

    async def try_one(value: str) -> str:
        lab.model_says(scripts[value])
        result = await session.run_turn("Hi")
        if result.is_error:
            assert result.error_detail or value == "stalls", value
        return ended(result)

    got = await each(tuple(scripts), try_one)
    await session.close()
    return got


STATUSES = (400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529)


@fault(
    "api",
    "an HTTP error, again and again",
    {
        "400": "provider error: 400",
        "401": AUTHENTICATION,
        "403": AUTHENTICATION,
        "404": "provider error: 404",
        "408": "provider error: 408",
        "409": "provider error: 409",
        "413": "provider error: 413",
        "422": "provider error: 422",
        "429": "rate limited",
        "500": "provider error: 500",
        "502": "provider error: 502",
        "503": "provider error: 503",
        "504": "provider error: 504",
        "529": "provider error: 529",
    },
)
async def test_api_fails_for_good(lab: FaultLab) -> dict[str, str]:
    scripts = {str(status): [forever(fail(status, "boom"))] for status in STATUSES}
    return await one_by_one(lab, scripts, execution={"max_retries": 0})


@fault(
    "api",
    "an HTTP error once",
    {
        "408": "answer",
        "409": "answer",
        "429": "answer",
        "500": "answer",
        "502": "answer",
        "503": "answer",
        "504": "answer",
        "529": "answer",
    },
)
async def test_api_fails_once(lab: FaultLab) -> dict[str, str]:
    again = (408, 409, 429, 500, 502, 503, 504, 529)
    scripts = {str(status): [fail(status, "boom"), say("Hello.")] for status in again}
    return await one_by_one(lab, scripts)


@fault("api", "401 where many retries are allowed: it is asked once", AUTHENTICATION)
async def test_api_refuses_the_credential(lab: FaultLab) -> str:
    api = await lab.api([forever(fail(401, "invalid x-api-key"))])
    backend = await lab.backend(api, execution={"max_retries": 10})
    got = ended(await backend.invoke_once("Hi"))
    assert len(api.requests) == 1
    return got


@fault("api", "429 with Retry-After: the wait is shown, and kept", "answer after Retrying")
async def test_api_says_when_to_come_back(lab: FaultLab) -> str:
    script = [fail(429, "slow down", retry_after=1), say("Hello.")]
    backend = await lab.backend(await lab.api(script))
    session = await backend.create_session()
    seen = [event async for event in session.stream("Hi")]
    waits = [event for event in seen if isinstance(event, Retrying)]
    assert [(wait.reason, wait.delay_seconds >= 1) for wait in waits] == [("rate limited", True)]
    assert isinstance(seen[-1], TurnEnd)
    return f"{ended(seen[-1].result)} after Retrying"


@fault(
    "api", "max_retries: 0 and an error that might pass: it is asked once", "provider error: 500"
)
async def test_api_is_not_asked_again(lab: FaultLab) -> str:
    api = await lab.api([forever(fail(500, "boom"))])
    backend = await lab.backend(api, execution={"max_retries": 0})
    got = ended(await backend.invoke_once("Hi"))
    assert len(api.requests) == 1
    return got


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@fault(
    "api",
    "an endpoint that cannot be reached",
    {"nobody listens": LOST, "the name is not known": LOST},
)
async def test_api_is_not_there(lab: FaultLab) -> dict[str, str]:
    ends = {
        "nobody listens": f"http://127.0.0.1:{free_port()}",
        "the name is not known": "http://no-such-host.invalid",
    }
    api = await lab.api()

    async def try_one(value: str) -> str:
        model = {"endpoint": ends[value]}
        backend = await lab.backend(api, model=model, execution={"max_retries": 0})
        got = ended(await backend.invoke_once("Hi"))
        await backend.teardown()
        return got

    return await each(tuple(ends), try_one)


@fault(
    "api",
    "TLS that does not fit",
    {"a certificate nobody signed": LOST, "no TLS at all": LOST},
)
async def test_api_with_wrong_tls(lab: FaultLab) -> dict[str, str]:
    import asyncio

    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    key, certificate = lab.folder / "key.pem", lab.folder / "certificate.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    names = ["-keyout", str(key), "-out", str(certificate), "-subj", "/CN=localhost"]
    subprocess.run([*make, *names], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def leave(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(leave, "127.0.0.1", 0, ssl=context)
    plain = await lab.api()
    ends = {
        "a certificate nobody signed": server.sockets[0].getsockname()[1],
        "no TLS at all": plain.url.rsplit(":", 1)[1],
    }

    async def try_one(value: str) -> str:
        model = {"endpoint": f"https://127.0.0.1:{ends[value]}"}
        backend = await lab.backend(plain, model=model, execution={"max_retries": 0})
        got = ended(await backend.invoke_once("Hi"))
        await backend.teardown()
        return got

    got = await each(tuple(ends), try_one)
    server.close()
    await server.wait_closed()
    return got


ANSWER = say("one two three", chunks=["one ", "two ", "three"])


@fault(
    "stream",
    "a connection that breaks, again and again",
    {"before the answer": LOST, "in the middle of the answer": LOST},
)
async def test_stream_breaks_for_good(lab: FaultLab) -> dict[str, str]:
    scripts = {
        "before the answer": [forever(reset())],
        "in the middle of the answer": [forever(cut(ANSWER, after_pieces=2))],
    }
    return await one_by_one(lab, scripts, execution={"max_retries": 0})


@fault(
    "stream",
    "a connection that breaks once: nothing is streamed twice",
    {"before the answer": "answer", "in the middle of the answer": "answer"},
)
async def test_stream_breaks_once(lab: FaultLab) -> dict[str, str]:
    scripts = {
        "before the answer": [reset(), ANSWER],
        "in the middle of the answer": [cut(ANSWER, after_pieces=2), ANSWER],
    }
    backend = await lab.backend(await lab.api())
    session = await backend.create_session()

    async def try_one(value: str) -> str:
        lab.model_says(scripts[value])
        seen = [event async for event in session.stream("Hi")]
        text = "".join(event.text for event in seen if isinstance(event, TextDelta))
        assert text == "one two three"
        assert isinstance(seen[-1], TurnEnd)
        return ended(seen[-1].result)

    return await each(tuple(scripts), try_one)


@fault(
    "stream",
    "an answer that is slow, or stops coming",
    {"trickles": "answer", "stalls": TIMED_OUT, "never begins": TIMED_OUT},
)
async def test_stream_is_slow(lab: FaultLab) -> dict[str, str]:
    from asyncio import Event

    from holodeck_backend_claude.testing import hold

    scripts = {
        "trickles": [delay(ANSWER, before=0.3, between=0.1)],
        "stalls": [hold(ANSWER, Event(), after_pieces=1)],
        "never begins": [hang()],
    }
    backend = await lab.backend(await lab.api(), execution={"llm_timeout": 3})
    session = await backend.create_session()

    async def try_one(value: str) -> str:
        lab.model_says(scripts[value])
        result = await session.run_turn("Hi")
        assert result.response == {"trickles": "one two three", "stalls": "one "}.get(value, "")
        return ended(result)

    return await each(tuple(scripts), try_one)


def event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


USAGE = {"input_tokens": 3, "output_tokens": 1}
START = event(
    "message_start",
    message={
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": USAGE,
    },
)  # fmt: skip
BLOCK = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
WORDS = event("content_block_delta", index=0, delta={"type": "text_delta", "text": "Hello."})
STOP = event("content_block_stop", index=0)
END = event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage=USAGE)
OVER = event("message_stop")
HOLOGRAM = event("hologram", data=[1])
ODD_DELTA = event("content_block_delta", index=0, delta={"type": "hologram_delta"})
WHOLE = START + BLOCK + WORDS + STOP + END + OVER


@fault(
    "stream",
    "events that are not as they should be, again and again",
    {
        "bad JSON": "an error",
        "an event of an unknown type": "answer",
        "a delta of an unknown type": "answer",
        "no message_start": "an error",
        "a delta without its block": "an error",
        "no message_stop": "answer",
        "the end of the body after message_start": "an error",
    },
)
async def test_stream_is_malformed(lab: FaultLab) -> dict[str, str]:
    bodies = {
        "bad JSON": START + "event: content_block_start\ndata: {oops\n\n",
        "an event of an unknown type": START + HOLOGRAM + WHOLE.removeprefix(START),
        "a delta of an unknown type": START + BLOCK + ODD_DELTA + WORDS + STOP + END + OVER,
        "no message_start": WHOLE.removeprefix(START),
        "a delta without its block": START + WORDS + STOP + END + OVER,
        "no message_stop": WHOLE.removesuffix(OVER),
        "the end of the body after message_start": START,
    }
    scripts = {what: [forever(raw(body))] for what, body in bodies.items()}
    return some_error(await one_by_one(lab, scripts, execution={"max_retries": 0}))


def some_error(got: dict[str, str]) -> dict[str, str]:
    """Where versions of Claude Code name an error differently: that it is one."""
    allowed = ("provider error: ",)
    return {value: "an error" if how.startswith(allowed) else how for value, how in got.items()}


@fault(
    "stream",
    "a body that is no answer, again and again",
    {
        "nothing": "an error",
        "a page in HTML": "an error",
        "JSON of another service": "an error",
        "the right events as text/plain": "answer",
    },
)
async def test_stream_is_something_else(lab: FaultLab) -> dict[str, str]:
    page = "<html><body>Sign in to the network</body></html>"
    answers: dict[str, Answer] = {
        "nothing": raw(""),
        "a page in HTML": raw(page, content_type="text/html"),
        "JSON of another service": raw('{"ok": true}', content_type="application/json"),
        "the right events as text/plain": raw(WHOLE, content_type="text/plain"),
    }
    scripts = {what: [forever(answer)] for what, answer in answers.items()}
    return some_error(await one_by_one(lab, scripts, execution={"max_retries": 0}))


@fault("stream", "an answer of 3 MB", "answer")
async def test_stream_is_huge(lab: FaultLab) -> str:
    text = "grün 漢字 " * 250_000
    backend = await lab.backend(await lab.api([say(text)]))
    result = await backend.invoke_once("Hi")
    assert result.response.replace(" ", "") == text.replace(" ", "")
    return ended(result)


@fault(
    "stream",
    "a stop reason that is no end",
    {
        "refusal": "refused",
        "max_tokens": "provider error: max_output_tokens",
        "pause_turn": "answer",
        "hologram": "answer",
    },
)
async def test_stream_stops_early(lab: FaultLab) -> dict[str, str]:
    reasons = ("refusal", "max_tokens", "pause_turn", "hologram")
    scripts = {reason: [forever(say("no", stop_reason=reason))] for reason in reasons}
    return await one_by_one(lab, scripts)


@fault(
    "stream",
    "a tool call that makes no sense: the model is told, and answers",
    {
        "arguments that are no JSON": "answer",
        "arguments that are no object": "answer",
        "a tool that does not exist": "answer",
        "an empty name": "answer",
        "one id for two calls": "answer",
        "no arguments": "answer",
    },
)
async def test_stream_calls_nonsense(lab: FaultLab) -> dict[str, str]:
    query = {"query": "x"}
    twice = reply(*(call_tool("kb", query, call_id="toolu_1") for _ in range(2)))
    calls = {
        "arguments that are no JSON": call_tool("kb", '{"query": '),
        "arguments that are no object": call_tool("kb", "[1, 2]"),
        "a tool that does not exist": call_tool("hologram", query),
        "an empty name": call_tool("", query),
        "one id for two calls": twice,
        "no arguments": call_tool("kb", ""),
    }
    api = await lab.api()
    api._strict = False  # what the model did wrong is sent back to it
    backend = await lab.backend(api, tool(found))

    async def try_one(value: str) -> str:
        lab.model_says([calls[value], forever(say("Sorry."))])
        return ended(await backend.invoke_once("Hi"))

    return await each(tuple(calls), try_one)
