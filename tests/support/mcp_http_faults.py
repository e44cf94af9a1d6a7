"""An MCP server over HTTP of the standard library alone, that answers as a test says."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

ENDLESS = 65_536
"""Bytes of one piece of an endless body."""


@dataclass(frozen=True)
class Answer:
    """An answer; ``{id}`` in its body is that of the request.

    Attributes:
        body: What it says.
        kind: Its content type.
        status: Its status.
        headers: Further ones.
        then: What happens after the body: ``""``, ``cut`` (before its announced end), ``stay``
            (nothing more comes), or ``endless`` (one byte, again and again).
    """

    body: str = ""
    kind: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    then: str = ""

    def head(self, body: bytes) -> bytes:
        length = len(body) + (1_000_000_000_000 if self.then else 0)
        lines = [
            f"HTTP/1.1 {self.status} Said",
            f"content-type: {self.kind}",
            f"content-length: {length}",
            *(f"{name}: {value}" for name, value in self.headers.items()),
        ]
        return "\r\n".join([*lines, "\r\n"]).encode()


def result(said: Mapping[str, Any]) -> str:
    """The body of a good answer."""
    text = json.dumps({"jsonrpc": "2.0", "id": "ID", "result": said})
    return text.replace('"ID"', "{id}")


def events(*bodies: str, **more: Any) -> Answer:
    """An answer of events."""
    return Answer("".join(f"data: {each}\n\n" for each in bodies), "text/event-stream", **more)


GREETING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "faulty", "version": "1"},
}
TOOLS = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
FINE = result({"content": [{"type": "text", "text": "fine"}]})


@dataclass
class FaultyServer:
    """A server that runs.

    Attributes:
        url: Where.
        said: How it answers: by method of the protocol, or of HTTP for what is none of the
            protocol. A list is used up one by one; its last answer stays.
        requests: The methods it got, with the headers.
        gone: Set when its client has closed the connection of an answer that stays.
    """

    url: str
    said: dict[str, list[Answer]]
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    listening: asyncio.StreamWriter | None = None

    def got(self, method: str) -> list[dict[str, str]]:
        """The headers of the requests of one method."""
        return [headers for name, headers in self.requests if name == method]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while await self._one(reader, writer):
                pass
        writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        verb, path, _ = lines[0].split(" ")
        headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        message = json.loads(body) if body else {}
        method = message.get("method", verb)
        self.requests.append((method, {**headers, ":path": path}))
        answer = self._answer_to(method)
        said = answer.body.replace("{id}", json.dumps(message.get("id"))).encode()
        if self.listening is not None and verb == "POST" and answer.kind == "to the stream":
            self.listening.write(b"event: message\ndata: " + said + b"\n\n")
            await self.listening.drain()
            answer, said = Answer(status=202), b""
        writer.write(answer.head(said) + said)
        await writer.drain()
        if answer.kind == "text/event-stream" and verb == "GET":
            self.listening = writer
        while answer.then == "endless":
            writer.write(b"x" * ENDLESS)
            await writer.drain()
        if answer.then == "stay":
            await reader.read()
            self.gone.set()
        return not answer.then

    def _answer_to(self, method: str) -> Answer:
        answers = self.said.get(method)
        if answers is None:
            return Answer(status=405 if method == "GET" else 202)
        return answers.pop(0) if len(answers) > 1 else answers[0]


@asynccontextmanager
async def faulty_server(
    said: Mapping[str, Answer | list[Answer]] | None = None,
    *,
    tls: ssl.SSLContext | None = None,
    over: str = "http",
) -> AsyncIterator[FaultyServer]:
    """A server that answers well but for what ``said`` says.

    Args:
        said: Other answers than the good ones; see :class:`FaultyServer`.
        tls: What it encrypts with.
        over: The transport, ``http`` or ``sse``.
    """
    good = {
        "initialize": Answer(result(GREETING), headers={"mcp-session-id": "s1"}),
        "tools/list": Answer(result(TOOLS)),
        "tools/call": Answer(FINE),
    }
    if over == "sse":
        good = {name: Answer(each.body, "to the stream") for name, each in good.items()}
        place = "event: endpoint\ndata: /messages\n\n"
        good["GET"] = Answer(place, "text/event-stream", then="stay")
    answers = {
        name: each if isinstance(each, list) else [each]
        for name, each in {**good, **(said or {})}.items()
    }
    here = FaultyServer("", answers)
    open_now: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_now.add(task)
        try:
            await here.serve(reader, writer)
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            open_now.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    here.url = f"http{'s' if tls else ''}://127.0.0.1:{port}/mcp"
    try:
        yield here
    finally:
        server.close()
        for task in list(open_now):
            task.cancel()
        await asyncio.gather(*open_now, return_exceptions=True)
