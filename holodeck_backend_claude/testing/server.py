"""A scripted model behind HTTP on loopback: what the wire formats have in common."""

from __future__ import annotations

import asyncio
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from aiohttp import web

from holodeck_backend_claude.testing.answers import Answer, Failure, Raw, Reply, Reset
from holodeck_backend_claude.testing.checks import refusal
from holodeck_backend_claude.testing.delivery import (
    Frame,
    reset_connection,
    send_document,
    send_raw,
    send_stream,
    stay_silent,
)
from holodeck_backend_claude.testing.playback import Playback, ScriptError
from holodeck_backend_claude.testing.request import ModelRequest
from holodeck_backend_claude.testing.script import Script, fail

MAX_BODY = 64 * 1024 * 1024
_SCRIPT_ERROR = 418  # no real API sends it, and no client tries again after it


class ScriptedServer(ABC):
    """Answers model requests from a script; ``async with`` starts and stops it.

    Each start plays the script from its beginning and forgets the requests of the last one.

    Args:
        script: What the model says.
        strict: Refuse, as the real APIs do, requests with bad tool definitions or with tool
            calls and results that do not match.

    Attributes:
        requests: The model requests, in the order of their arrival.
        side_requests: Model requests that the client made for itself; they take no step.
        problems: Why requests were refused: the script ended or failed, or the request is faulty.

    Raises:
        TypeError: The script holds something that is no step.
        ValueError: ``forever(...)`` is not the last step of the script.
    """

    model_path: str
    """The path of model requests."""

    def __init__(self, script: Script, *, strict: bool = True) -> None:
        self._script = script
        self._strict = strict
        self._playback = Playback(script)
        self._runner: web.AppRunner | None = None
        self.clear_records()

    # ------------------------------------------------------------------- what a wire format says

    @abstractmethod
    def parse(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> ModelRequest:
        """The neutral view of a model request."""

    @abstractmethod
    def frames(self, answer: Reply, request: ModelRequest) -> Iterator[Frame]:
        """The streamed answer."""

    @abstractmethod
    def document(self, answer: Reply, request: ModelRequest) -> dict[str, Any]:
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
            raise RuntimeError(f"{type(self).__name__} does not run; start it with 'async with'")
        host, port = self._runner.addresses[0][:2]
        return f"http://{host}:{port}"

    async def __aenter__(self) -> Self:
        if self._runner is not None:
            raise RuntimeError(f"{type(self).__name__} runs already, at {self.url}")
        self.clear_records()
        self._playback = Playback(self._script)
        self._arrived = asyncio.Condition()
        self._handlers: set[asyncio.Task[Any]] = set()
        self._runner = web.AppRunner(
            self._application(),
            handle_signals=False,
            access_log=None,
            handler_cancellation=True,  # a client that leaves ends its answer
            shutdown_timeout=0.1,
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        runner, self._runner = self._runner, None
        for handler in self._handlers:
            handler.cancel()
        if runner is not None:
            await runner.cleanup()

    def clear_records(self) -> None:
        """Forget what was recorded."""
        self.requests: list[ModelRequest] = []
        self.side_requests: list[ModelRequest] = []
        self.problems: list[str] = []

    async def wait_for_requests(self, count: int) -> None:
        """Wait until so many model requests have arrived."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)

    # -------------------------------------------------------------------------------- answering

    def _application(self) -> web.Application:
        app = web.Application(client_max_size=MAX_BODY)
        app.add_routes([web.post(self.model_path, self._model), *self.other_routes()])
        app.router.add_route("*", "/{path:.*}", self._unknown)
        return app

    async def _unknown(self, http: web.Request) -> web.Response:
        return self.error(fail(404, f"{http.method} {http.path} is not scripted"))

    async def _model(self, http: web.Request) -> web.StreamResponse:
        handler = asyncio.current_task()
        if handler is not None:
            self._handlers.add(handler)
            handler.add_done_callback(self._handlers.discard)
        body = await self.read(http)
        if isinstance(body, Failure):
            return self.error(body)
        try:
            request = self.parse(body, lower_names(http.headers))
        except (AttributeError, KeyError, TypeError) as cause:
            return self.error(self._problem(400, f"the request cannot be read: {cause!r}"))
        return await self._respond(http, request, await self._choose(request))

    async def read(self, http: web.Request) -> dict[str, Any] | Failure:
        """The JSON body of a request, or the error it gets."""
        try:
            body = await http.json()
        except web.HTTPRequestEntityTooLarge:
            return fail(413, f"the request is larger than {MAX_BODY} bytes")
        except ValueError as cause:
            return fail(400, f"the request is not JSON: {cause}")
        return body if isinstance(body, dict) else fail(400, "the request is not a JSON object")

    async def _choose(self, request: ModelRequest) -> Answer:
        side = self.side_answer(request)
        if side is not None:
            self.side_requests.append(request)
            return side
        async with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()
        fault = refusal(request) if self._strict else None
        if fault is not None:
            return self._problem(400, fault)
        try:
            return await self._playback.answer(request)
        except ScriptError as cause:
            return self.script_error(str(cause))

    async def _respond(
        self, http: web.Request, request: ModelRequest, answer: Answer
    ) -> web.StreamResponse:
        if answer.before:
            await asyncio.sleep(answer.before)
        if isinstance(answer, Failure):
            return self.error(answer)
        if isinstance(answer, Raw):
            return await send_raw(http, answer)
        if isinstance(answer, Reset):
            return reset_connection(http)
        if not isinstance(answer, Reply):
            await stay_silent()
        error = answer.cut.error if answer.cut else None
        if request.stream:
            last_words = self.error_frame(error) if error else None
            frames = self.frames(answer, request)
            return await send_stream(http, answer, frames, last_words=last_words)
        if error is not None:
            return self.error(error)
        return await send_document(http, answer, self.document(answer, request))

    def script_error(self, text: str) -> Failure:
        """Record that the script gave no answer, and make an error of it."""
        return self._problem(_SCRIPT_ERROR, text)

    def _problem(self, status: int, text: str) -> Failure:
        if text not in self.problems:
            self.problems.append(text)
        return fail(status, text)

    def error(self, failure: Failure) -> web.Response:
        """An HTTP error in this wire format."""
        headers = {"request-id": new_id("req_")}
        if failure.retry_after is not None:
            headers["retry-after"] = f"{failure.retry_after:g}"
        return web.json_response(self.error_body(failure), status=failure.status, headers=headers)


def new_id(prefix: str) -> str:
    """An id that no other answer has, in this process or another."""
    return f"{prefix}{uuid.uuid4().hex[:24]}"


def lower_names(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with their names in lower case."""
    return {name.lower(): value for name, value in headers.items()}
