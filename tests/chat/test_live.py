"""A session in an event loop of its own thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager

import pytest

from holodeck_backend_claude.chat import LiveSession, TurnStoppedError
from holodeck_backend_claude.contract import (
    BackendInitError,
    BackendSessionError,
    ExecutionResult,
    FileInput,
    TextDelta,
    TurnEnd,
    TurnEvent,
)
from holodeck_backend_claude.sessions import StreamedSession


class Session(StreamedSession):
    """Records in which task it was opened, used and closed."""

    def __init__(self) -> None:
        self.owners: list[asyncio.Task[object] | None] = []
        self.hanging = threading.Event()
        self.stopped = False

    async def stream(
        self, message: str, *, files: Sequence[FileInput] = ()
    ) -> AsyncIterator[TurnEvent]:
        if message == "die":
            raise BackendSessionError("dead")
        yield TextDelta(message)
        if message == "hang":
            self.hanging.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.stopped = True
        if message != "no end":
            yield TurnEnd(ExecutionResult(message))

    async def close(self) -> None:
        pass

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Session]:
        self.owners.append(asyncio.current_task())
        try:
            yield self
        finally:
            self.owners.append(asyncio.current_task())


def test_turns_run_one_by_one_and_show_their_events() -> None:
    session = Session()
    events: list[TurnEvent] = []
    with LiveSession(session.opened) as live:
        assert live.send("one", events.append).response == "one"
        assert live.send("two", events.append).response == "two"
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["one", "two"]


def test_one_task_opens_and_closes_the_session() -> None:
    session = Session()
    with LiveSession(session.opened) as live:
        live.send("one", lambda _event: None)
    first, last = session.owners
    assert first is last


def test_an_error_of_a_turn_reaches_the_caller_and_the_session_goes_on() -> None:
    with LiveSession(Session().opened) as live:
        with pytest.raises(BackendSessionError, match="dead"):
            live.send("die", lambda _event: None)
        with pytest.raises(BackendSessionError, match="without a result"):
            live.send("no end", lambda _event: None)
        assert live.send("one", lambda _event: None).response == "one"


def test_an_error_of_whoever_shows_events_reaches_the_caller() -> None:
    def show(_event: TurnEvent) -> None:
        raise BrokenPipeError

    with LiveSession(Session().opened) as live, pytest.raises(BrokenPipeError):
        live.send("one", show)


def test_an_error_at_the_start_reaches_the_caller() -> None:
    class Opening(Session):
        async def __aenter__(self) -> Session:
            raise BackendInitError("no key")

        async def __aexit__(self, *_exc: object) -> None:
            raise AssertionError("it was never entered")

    with pytest.raises(BackendInitError, match="no key"), LiveSession(Opening):
        pass


Hanging = tuple[LiveSession, Session, Future[ExecutionResult]]


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    """A live session, and a turn of it that hangs."""
    session = Session()
    with ThreadPoolExecutor(1) as thread, LiveSession(session.opened) as live:
        turn = thread.submit(live.send, "hang", lambda _event: None)
        assert session.hanging.wait(30)
        yield live, session, turn


def test_stopping_ends_the_turn_and_not_the_session(hanging: Hanging) -> None:
    live, session, turn = hanging
    live.stop()
    assert live.send("one", lambda _event: None).response == "one"
    assert session.stopped
    assert isinstance(turn.exception(), TurnStoppedError)


def test_stopping_without_a_turn_does_nothing() -> None:
    with LiveSession(Session().opened) as live:
        live.stop()
        assert live.send("one", lambda _event: None).response == "one"


def test_leaving_stops_a_turn_that_runs(hanging: Hanging) -> None:
    live, session, turn = hanging
    live.__exit__(None, None, None)
    assert session.stopped
    assert isinstance(turn.exception(), TurnStoppedError)


def test_a_session_that_ended_takes_no_message() -> None:
    live = LiveSession(Session().opened)
    with live:
        pass
    with pytest.raises(BackendSessionError, match="ended"):
        live.send("one", lambda _event: None)
