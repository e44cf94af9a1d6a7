"""A session that lives in an event loop of its own, beside a thread that waits for a terminal.

The main thread reads lines and gets Ctrl-C; both would stop an event loop. So the agent has its
own thread, where one task opens it, runs the turns one by one, and closes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Event, Thread
from types import TracebackType
from typing import Self

from holodeck_backend_claude.contract import (
    AgentSession,
    BackendSessionError,
    ExecutionResult,
    PermissionRequest,
    TurnEvent,
)
from holodeck_backend_claude.failures import LOOP_STOPPED
from holodeck_backend_claude.sessions import read_turn


class TurnStoppedError(BackendSessionError):
    """The user stopped the turn; the session goes on."""


@dataclass
class _Request:
    """One turn: the message, who is shown its events, and its result."""

    message: str
    show: Callable[[TurnEvent], None]
    done: Future[ExecutionResult] = field(default_factory=Future)


@dataclass
class _Question:
    """A call that somebody has to agree to, and the answer."""

    request: PermissionRequest
    answered: asyncio.Future[bool]

    def settle(self, says: bool) -> None:
        """Give the answer, if anybody still waits for it."""
        if not self.answered.done():
            self.answered.set_result(says)


class LiveSession:
    """A session for a thread that has no event loop; a context manager.

    Args:
        opening: Opens the session, in the event loop; entered and left in one task.
    """

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[AgentSession]]) -> None:
        self._opening = opening
        self._ready: Future[None] = Future()
        self._thread = Thread(target=self._run, name="holodeck-chat", daemon=True)
        self._begun = Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._turn: asyncio.Task[ExecutionResult] | None = None
        self._request: _Request | None = None  # the one whose turn runs
        self._inbox: asyncio.Queue[_Request | None] = asyncio.Queue()
        self._questions: SimpleQueue[_Question | None] = SimpleQueue()  # None: the turn has ended

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._ready.result()
        except BaseException:
            self._begun.wait()
            self._in_loop(self._cancel_all)
            self._thread.join()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
        self._in_loop(lambda: self._inbox.put_nowait(None))
        self._thread.join()

    def send(
        self,
        message: str,
        show: Callable[[TurnEvent], None],
        answer: Callable[[PermissionRequest], bool] = lambda _request: False,
    ) -> ExecutionResult:
        """Run one turn.

        Args:
            message: What the user says.
            show: Called with each event as it comes, in the thread of the session.
            answer: Called with each question of :meth:`ask`, in the thread of the caller.

        Raises:
            TurnStoppedError: :meth:`stop` was called meanwhile.
            BackendSessionError: The session cannot take a message.
        """
        request = _Request(message, show)
        if not self._in_loop(lambda: self._inbox.put_nowait(request)):
            raise BackendSessionError("the session has ended")
        request.done.add_done_callback(lambda _done: self._questions.put(None))
        while (question := self._questions.get()) is not None:
            self._answer(question, answer)
        return request.done.result()

    async def ask(self, request: PermissionRequest) -> bool:
        """Have whoever sent the message answer; called in the event loop of the session."""
        question = _Question(request, asyncio.get_running_loop().create_future())
        self._questions.put(question)
        return await question.answered

    def _answer(self, question: _Question, answer: Callable[[PermissionRequest], bool]) -> None:
        says = False
        try:
            says = answer(question.request)
        finally:
            self._in_loop(lambda: question.settle(says))

    def stop(self) -> None:
        """Stop the turn that runs, if there is one; from any thread or signal handler."""
        self._in_loop(self._stop_turn)

    def soon(self, call: Callable[[], object]) -> bool:
        """Call this as soon as the session's event loop comes to it; from any thread.

        Returns:
            False where there is no event loop (any more); it is not called then.
        """
        return self._in_loop(call)

    # --------------------------------------------------------------------- in the other thread

    def _run(self) -> None:
        try:
            asyncio.run(self._live())
        except BaseException as error:  # noqa: BLE001 - it goes to whoever waits for the session
            if not self._ready.done():
                self._ready.set_exception(error)
        finally:
            self._begun.set()
            self._refuse_the_rest()

    async def _live(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        self._begun.set()
        async with self._opening() as session:
            self._ready.set_result(None)
            while (request := await self._inbox.get()) is not None:
                self._request = request
                self._turn = asyncio.create_task(
                    read_turn(session.stream(request.message), request.show)
                )
                await asyncio.wait({self._turn})
                _pass_on(self._turn, request.done)
                self._turn = self._request = None

    def _stop_turn(self) -> None:
        if self._turn is not None:
            self._turn.cancel()

    def _cancel_all(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _in_loop(self, call: Callable[[], object]) -> bool:
        """Do this in the loop's thread; False where there is no loop any more."""
        if self._loop is None:
            return False
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:  # closed
            return False
        return True

    def _refuse_the_rest(self) -> None:
        if self._request is not None and not self._request.done.done():
            self._request.done.set_exception(BackendSessionError(LOOP_STOPPED))
        while not self._inbox.empty():
            request = self._inbox.get_nowait()
            if request is not None:
                request.done.set_exception(BackendSessionError("the session has ended"))


def _pass_on(turn: asyncio.Task[ExecutionResult], done: Future[ExecutionResult]) -> None:
    if turn.cancelled():
        done.set_exception(TurnStoppedError("the turn was stopped"))
    elif error := turn.exception():
        done.set_exception(error)
    else:
        done.set_result(turn.result())
