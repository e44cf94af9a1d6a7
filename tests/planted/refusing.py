"""A server that refuses whoever asks and quotes what it was sent, as some gateways do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

_TOO_COMMON = frozenset({"host", "accept", "accept-encoding", "connection", "content-length"})


@dataclass
class Refusing:
    """A server that runs.

    Attributes:
        url: Where.
        heard: The headers of each request.
    """

    url: str = ""
    heard: list[str] = field(default_factory=list)


@asynccontextmanager
async def refusing(status: int = 401, *, reason: bool = True) -> AsyncIterator[Refusing]:
    """Run one on loopback; its body quotes every header.

    Args:
        status: What it answers.
        reason: Whether the words after the status do so too; HTTP clients log those.
    """
    server = Refusing()

    async def answer(request: web.BaseRequest) -> web.Response:
        sent = {name: v for name, v in request.headers.items() if name.lower() not in _TOO_COMMON}
        quoted = " ".join(sent.values())
        server.heard.append(quoted)
        message = f"no access with {quoted}"
        body = {"type": "error", "error": {"type": "authentication_error", "message": message}}
        headers = {"location": f"/login?for={quoted}"} if status // 100 == 3 else {}
        words = message if reason else None
        return web.json_response(body, status=status, reason=words, headers=headers)

    runner = web.ServerRunner(web.Server(answer, access_log=None), shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()
