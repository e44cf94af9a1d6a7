"""How an answer goes over the wire: in time, halted or cut as its script says."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, NoReturn

from aiohttp import web

from holodeck_backend_claude.testing.answers import Raw, Reply

_TIME_TO_READ = 0.1
"""Seconds before a line breaks: clients drop what they have not read by then."""


class Frame(NamedTuple):
    """Bytes of a streamed answer; a piece is one that carries text, thinking or arguments."""

    data: bytes
    piece: bool = False


async def send_stream(
    http: web.Request, answer: Reply, frames: Iterable[Frame], *, last_words: bytes | None
) -> web.StreamResponse:
    """Stream the frames; ``last_words`` end a stream that is cut, None drops the connection."""
    response = web.StreamResponse(headers={"content-type": "text/event-stream; charset=utf-8"})
    await response.prepare(http)
    pieces, reached = 0, set[int]()
    for frame in frames:
        await response.write(frame.data)
        pieces += frame.piece
        if pieces not in reached:
            reached.add(pieces)
            await _wait_at(answer, pieces)
            if answer.cut is not None and answer.cut.after_pieces == pieces:
                return await _break_off(http, response, last_words)
        if frame.piece and answer.between:
            await asyncio.sleep(answer.between)
    await response.write_eof()
    return response


async def send_document(
    http: web.Request, answer: Reply, document: Mapping[str, Any]
) -> web.StreamResponse:
    """Send the answer as one JSON document, half of it where the answer is cut."""
    body = json.dumps(document).encode()
    for hold in answer.holds:
        await hold.gate.wait()
    if answer.cut is None:
        return web.Response(body=body, content_type="application/json")
    response = web.StreamResponse(headers={"content-type": "application/json"})
    response.content_length = len(body)
    await response.prepare(http)
    await response.write(body[: len(body) // 2])
    return await _break_off(http, response, None)


async def send_raw(http: web.Request, answer: Raw) -> web.StreamResponse:
    """Send a body as it is."""
    headers = {"content-type": answer.content_type}
    response = web.StreamResponse(status=answer.status, headers=headers)
    await response.prepare(http)
    if answer.body:
        await response.write(answer.body)
    await response.write_eof()
    return response


def reset_connection(http: web.Request) -> web.StreamResponse:
    """Reset the connection; the response that is returned goes nowhere."""
    if http.transport is not None:
        connection = http.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        http.transport.abort()
    return web.Response()


async def stay_silent() -> NoReturn:
    """Wait until the client leaves or the server closes: both cancel the handler."""
    while True:
        await asyncio.Event().wait()


async def _wait_at(answer: Reply, pieces: int) -> None:
    for hold in answer.holds:
        if hold.after_pieces == pieces:
            await hold.gate.wait()


async def _break_off(
    http: web.Request, response: web.StreamResponse, last_words: bytes | None
) -> web.StreamResponse:
    if last_words is not None:
        await response.write(last_words)
        await response.write_eof()
    elif http.transport is not None:
        await asyncio.sleep(_TIME_TO_READ)
        http.transport.close()
    return response
