"""A scripted model behind HTTP on loopback: what the wire formats have in common."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Self

from aiohttp import web

from holodeck_backend_claude.testing.request import ModelRequest
from holodeck_backend_claude.testing.script import (
    Answer,
    Failure,
    Forever,
    Reply,
    Script,
    Silence,
    Step,
    fail,
)

MAX_BODY = 64 * 1024 * 1024


class Frame(NamedTuple):
    """Bytes of a streamed answer; a piece is one that carries text, thinking or arguments."""

    data: bytes
    piece: bool = False


class ScriptedServer(ABC):
    """Answers model requests from a script; ``async with`` starts and stops it.

    Attributes:
        requests: The model requests, in the order of their arrival.
        side_requests: Model requests that the client made for itself; they take no step.
        problems: What went wrong with the script, e.g. that it ran out of steps.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[ModelRequest] = []
        self.side_requests: list[ModelRequest] = []
        self.problems: list[str] = []
        self._runner: web.AppRunner | None = None
        self._port = 0

    # ------------------------------------------------------------------- what a wire format says

    model_path: str
    """The path of model requests."""

    @abstractmethod
    def parse(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> ModelRequest:
        """The neutral view of a model request."""

    @abstractmethod
    def frames(self, answer: Reply, request: ModelRequest) -> Iterator[Frame]:
        """The streamed answer."""

    @abstractmethod
    def whole(self, answer: Reply, request: ModelRequest) -> dict[str, Any]:
        """The answer as one JSON document."""

    @abstractmethod
    def error_body(self, failure: Failure) -> dict[str, Any]:
        """The JSON body of an HTTP error."""

    @abstractmethod
    def error_frame(self, failure: Failure) -> bytes:
        """An error in the middle of a stream."""

    def other_routes(self) -> Sequence[web.RouteDef]:
        """The endpoints beside the model's."""
        return ()

    def side_answer(self, request: ModelRequest) -> Answer | None:
        """The answer to a request that the client makes for itself; None for all others."""
        del request
        return None

    # -------------------------------------------------------------------------- start and stop

    @property
    def url(self) -> str:
        """The address, without a path.

        Raises:
            RuntimeError: The server does not run.
        """
        if self._runner is None:
            raise RuntimeError(f"{type(self).__name__} is not running; use it in `async with`")
        return f"http://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Self:
        self.clear_records()
        self._steps = _steps(self.script)
        self._ids = itertools.count(1)
        self._arrived = asyncio.Condition()
        self._running: set[asyncio.Task[Any]] = set()
        app = web.Application(client_max_size=MAX_BODY)
        app.add_routes([web.post(self.model_path, self._answer_model), *self.other_routes()])
        app.router.add_route("*", "/{path:.*}", self._answer_unknown)
        self._runner = web.AppRunner(
            app, handle_signals=False, access_log=None, handler_cancellation=True,
            shutdown_timeout=0.1,
        )  # fmt: skip
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_exc: object) -> None:
        runner, self._runner = self._runner, None
        for task in self._running:
            task.cancel()
        if runner is not None:
            await runner.cleanup()

    def clear_records(self) -> None:
        """Forget what was recorded; done at each start."""
        self.requests, self.side_requests, self.problems = [], [], []

    async def wait_for_requests(self, count: int) -> None:
        """Wait until so many model requests have arrived."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)

    def next_id(self, prefix: str) -> str:
        """A new id of this server."""
        return f"{prefix}{next(self._ids):08d}"

    # -------------------------------------------------------------------------------- answering

    async def _answer_unknown(self, request: web.Request) -> web.Response:
        return self._error(fail(404, f"{request.method} {request.path} is not scripted here"))

    async def _answer_model(self, http: web.Request) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # a handler always runs in one
        self._running.add(task)
        try:
            request = self.parse(await http.json(), lower_names(http.headers))
            return await self._respond(http, request, await self._choose(request))
        except web.HTTPRequestEntityTooLarge:
            return self._error(fail(413, f"the request is larger than {MAX_BODY} bytes"))
        except json.JSONDecodeError as cause:
            return self._error(fail(400, f"the request body is not JSON: {cause}"))
        finally:
            self._running.discard(task)

    async def _choose(self, request: ModelRequest) -> Answer:
        side = self.side_answer(request)
        if side is not None:
            self.side_requests.append(request)
            return side
        async with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()
        step = next(self._steps, None)
        if step is None:
            return self._problem(
                f"the script has no answer left for model request {len(self.requests)}; "
                "add one, or end the script with forever(...)"
            )
        return await self._run_step(step, request)

    async def _run_step(self, step: Step, request: ModelRequest) -> Answer:
        if not callable(step):
            return step
        try:
            answer: object = step(request)
            if inspect.isawaitable(answer):
                answer = await answer
        except Exception as cause:  # noqa: BLE001  # the script is the user's; its error is shown
            return self._problem(f"the script raised {type(cause).__name__}: {cause}")
        if not isinstance(answer, Reply | Failure | Silence):
            return self._problem(f"the script returned {answer!r}, which is no answer")
        return answer

    def _problem(self, text: str) -> Failure:
        self.problems.append(text)
        return fail(400, text)  # clients do not retry a 400

    async def _respond(
        self, http: web.Request, request: ModelRequest, answer: Answer
    ) -> web.StreamResponse:
        if isinstance(answer, Silence):
            await _never()
        if answer.before:
            await asyncio.sleep(answer.before)
        if isinstance(answer, Failure):
            return self._error(answer)
        if request.stream:
            return await self._stream(http, answer, self.frames(answer, request))
        return await self._send_whole(http, answer, self.whole(answer, request))

    async def _stream(
        self, http: web.Request, answer: Reply, frames: Iterator[Frame]
    ) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"content-type": "text/event-stream; charset=utf-8", **self._headers()}
        )
        await response.prepare(http)
        pieces = 0
        for frame in frames:
            if frame.piece:
                if await self._interrupt(http, response, answer, pieces):
                    return response
                pieces += 1
            await response.write(frame.data)
            if answer.between and frame.piece:
                await asyncio.sleep(answer.between)
        await response.write_eof()
        return response

    async def _interrupt(
        self, http: web.Request, response: web.StreamResponse, answer: Reply, pieces: int
    ) -> bool:
        """Hold or cut the stream after so many pieces; True where it ended."""
        if answer.hold is not None and answer.hold.after_pieces == pieces:
            await answer.hold.gate.wait()
        if answer.cut is None or answer.cut.after_pieces != pieces:
            return False
        if answer.cut.error is not None:
            await response.write(self.error_frame(answer.cut.error))
            await response.write_eof()
        else:
            _drop(http)
        return True

    async def _send_whole(
        self, http: web.Request, answer: Reply, document: dict[str, Any]
    ) -> web.StreamResponse:
        body = json.dumps(document).encode()
        if answer.hold is not None:
            await answer.hold.gate.wait()
        if answer.cut is None:
            return web.Response(body=body, content_type="application/json", headers=self._headers())
        if answer.cut.error is not None:
            return self._error(answer.cut.error)
        response = web.StreamResponse(headers={"content-type": "application/json"})
        response.content_length = len(body)
        await response.prepare(http)
        await response.write(body[: len(body) // 2])
        _drop(http)
        return response

    def _headers(self) -> dict[str, str]:
        return {"request-id": self.next_id("req_")}

    def _error(self, failure: Failure) -> web.Response:
        headers = self._headers()
        if failure.retry_after is not None:
            headers["retry-after"] = f"{failure.retry_after:g}"
        return web.json_response(self.error_body(failure), status=failure.status, headers=headers)


def _steps(script: Script) -> Iterator[Step]:
    if isinstance(script, Forever):
        yield from itertools.repeat(script.step)
    elif callable(script):
        yield from itertools.repeat(script)
    elif isinstance(script, Sequence):
        for step in script:
            if isinstance(step, Forever):
                yield from itertools.repeat(step.step)
            else:
                yield step
    else:
        yield script


async def _never() -> NoReturn:
    """Wait until the client leaves or the server closes: both cancel the handler."""
    while True:
        await asyncio.Event().wait()


def _drop(http: web.Request) -> None:
    if http.transport is not None:
        http.transport.close()  # what was written still arrives; the end of the answer does not


def lower_names(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with their names in lower case."""
    return {name.lower(): value for name, value in headers.items()}
