"""MCP servers on loopback for each transport of the network, each in a thread of its own."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import uvicorn
from mcp.server.fastmcp import Context, FastMCP
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCMessage
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.typing import Subprotocol

Headers = dict[str, str]


@dataclass
class Running:
    """A server that runs.

    Attributes:
        url: Where.
        requests: Method and headers of every request, or of every handshake.
        stop: Ends it as a crash does: open connections are cut.
    """

    url: str
    requests: list[tuple[str, Headers]] = field(default_factory=list)
    stop: Callable[[], Awaitable[None]] = field(init=False)


def small_server() -> FastMCP:
    """A server with a tool, one that asks its client things, a prompt and a resource."""
    with warnings.catch_warnings():  # of pydantic-settings, about the settings of mcp 1.26
        warnings.simplefilter("ignore")
        app = FastMCP("small", log_level="ERROR")

    @app.tool()
    def add(a: int, b: int) -> int:
        """Adds two numbers."""
        return a + b

    @app.tool()
    async def slow(context: Context[Any, Any, Any]) -> str:
        """Reports progress and answers when it is cancelled."""
        await context.report_progress(1, 2, "half")
        await asyncio.sleep(30)
        return "never"

    @app.tool()
    async def asks(context: Context[Any, Any, Any]) -> list[str]:
        """Asks its client for a model, a form and its folders."""
        said = []
        for ask in (_ask_model, _ask_user, _ask_roots):
            try:
                said.append(str(await ask(context)))
            except Exception as error:  # noqa: BLE001 - whatever it is, it is told
                said.append(f"{type(error).__name__}: {error}")
        return said

    @app.prompt()
    def greet(name: str) -> str:
        """How to greet somebody."""
        return f"Say hello to {name}."

    @app.resource("note://today")
    def today() -> str:
        """The note of today."""
        return "Buy milk."

    @app.resource("note://{day}")
    def note(day: str) -> str:
        """The note of a day."""
        return f"Nothing on {day}."

    return app


async def _ask_model(context: Context[Any, Any, Any]) -> Any:
    from mcp.types import SamplingMessage, TextContent

    message = SamplingMessage(role="user", content=TextContent(type="text", text="Hi"))
    return await context.session.create_message([message], max_tokens=5)


async def _ask_user(context: Context[Any, Any, Any]) -> Any:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    return await context.session.elicit("Your name?", schema)


async def _ask_roots(context: Context[Any, Any, Any]) -> Any:
    return (await context.session.list_roots()).roots


@asynccontextmanager
async def over_http(
    kind: str, *, port: int = 0, status: int | None = None
) -> AsyncIterator[Running]:
    """``small_server`` over ``http`` or ``sse``.

    Args:
        kind: The transport.
        port: 0 takes a free one.
        status: What every request is answered with instead.
    """
    listener = socket.create_server(("127.0.0.1", port))
    number = listener.getsockname()[1]
    running = Running(f"http://127.0.0.1:{number}/{'mcp' if kind == 'http' else 'sse'}")

    async def run(started: Callable[[], None], ended: asyncio.Event) -> None:
        app = small_server()
        asgi: Any = app.streamable_http_app() if kind == "http" else app.sse_app()
        recorded = _recording(asgi, running, status)
        config = uvicorn.Config(
            recorded, log_level="critical", ws="none", timeout_graceful_shutdown=0, access_log=False
        )
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server._serve(sockets=[listener]))
        while not server.started:
            await asyncio.sleep(0.01)
        started()
        await ended.wait()
        server.should_exit = server.force_exit = True
        await serving

    async with _in_a_thread(run, running):
        yield running
    listener.close()


def _recording(asgi: Any, running: Running, status: int | None) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = {k.decode(): v.decode() for k, v in scope["headers"]}
            running.requests.append((scope["method"], headers))
            if status is not None:
                location = [(b"location", b"http://127.0.0.1:9/elsewhere")]
                await send({"type": "http.response.start", "status": status, "headers": location})
                await send({"type": "http.response.body", "body": b""})
                return
        await asgi(scope, receive, send)

    return app


@asynccontextmanager
async def over_websocket(*, port: int = 0) -> AsyncIterator[Running]:
    """``small_server`` over a WebSocket."""
    running = Running("")

    async def run(started: Callable[[], None], ended: asyncio.Event) -> None:
        app = small_server()._mcp_server

        async def handle(connection: ServerConnection) -> None:
            request = connection.request
            assert request is not None
            headers = {name.lower(): value for name, value in request.headers.raw_items()}
            running.requests.append(("GET", headers))
            await _speak(app, connection)

        subprotocols = [Subprotocol("mcp")]
        server: Server = await serve(handle, "127.0.0.1", port, subprotocols=subprotocols)
        running.url = f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/ws"
        started()
        await ended.wait()
        server.close()
        await server.wait_closed()

    async with _in_a_thread(run, running):
        yield running


async def _speak(app: Any, connection: ServerConnection) -> None:
    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)

    async def send() -> None:
        async with to_send:
            async for message in to_send:
                await connection.send(message.message.model_dump_json(exclude_none=True))

    async def receive() -> None:
        async with received:
            async for text in connection:
                await received.send(SessionMessage(JSONRPCMessage.model_validate_json(text)))

    async with anyio.create_task_group() as group:
        group.start_soon(send)
        group.start_soon(receive)
        await app.run(incoming, outgoing, app.create_initialization_options())
        group.cancel_scope.cancel()


Run = Callable[[Callable[[], None], asyncio.Event], Awaitable[None]]


@asynccontextmanager
async def _in_a_thread(run: Run, running: Running) -> AsyncIterator[None]:
    """Run a server in an event loop of its own, so that nothing of it is in the test's."""
    started = threading.Event()
    ends: list[Callable[[], object]] = []

    async def main() -> None:
        ended, loop = asyncio.Event(), asyncio.get_running_loop()
        ends.append(lambda: loop.call_soon_threadsafe(ended.set))
        await run(started.set, ended)

    def serve_until_it_ends() -> None:
        try:
            asyncio.run(main())
        finally:
            started.set()  # also where it did not start: nobody is to wait for it
        with warnings.catch_warnings():  # of streams that mcp's server leaves open when it is cut
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()

    thread = threading.Thread(target=serve_until_it_ends, name="an MCP server")
    thread.start()

    async def stop() -> None:
        if thread.is_alive():
            ends[0]()
        await asyncio.to_thread(thread.join)

    running.stop = stop
    await asyncio.to_thread(started.wait)
    try:
        yield
    finally:
        await stop()
