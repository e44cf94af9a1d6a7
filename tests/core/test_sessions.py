"""What a session gets for nothing that can stream a turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from holodeck_backend_claude import StreamedSession
from holodeck_backend_claude.contract import (
    AgentSession,
    BackendSessionError,
    BackendTimeoutError,
    ExecutionResult,
    FileInput,
    InputFile,
    TextDelta,
    ThinkingDelta,
    TurnEnd,
    TurnEvent,
)
from holodeck_backend_claude.input_files import InputFileError
from holodeck_backend_claude.sessions import TurnEvents, read_turn


class Session(StreamedSession):
    """Streams two pieces of text and ends with the given result, or without any."""

    def __init__(self, result: ExecutionResult | None) -> None:
        self.result = result
        self.left = False
        self.hangs = asyncio.Event()

    async def stream(self, message: str) -> AsyncIterator[TurnEvent]:
        try:
            yield TextDelta(f"{message}, ")
            yield ThinkingDelta("hm")
            if message == "hang":
                self.hangs.set()
                await asyncio.Event().wait()
            yield TextDelta("world")
            if self.result is not None:
                yield TurnEnd(self.result)
        finally:
            self.left = True

    async def close(self) -> None:
        pass


def failed(reason: str, detail: str | None = None) -> ExecutionResult:
    return ExecutionResult("so far", is_error=True, error_reason=reason, error_detail=detail)


async def in_one_piece(session: StreamedSession, message: str) -> ExecutionResult:
    return await session.send(message)


async def in_pieces(session: StreamedSession, message: str) -> list[str]:
    return [text async for text in session.send_streaming(message)]


async def test_it_is_a_session_of_the_contract_and_sends_in_every_way() -> None:
    result = ExecutionResult("Hello, world")
    session = Session(result)
    any_session: object = session  # its stream takes no files, as one of an older plugin
    assert isinstance(any_session, AgentSession)
    assert await session.send("Hello") is result
    assert await session.run_turn("Hello") is result
    assert await in_pieces(session, "Hello") == ["Hello, ", "world"]


@pytest.mark.parametrize("send", [in_one_piece, in_pieces])
async def test_a_failed_turn_raises_with_its_result_and_run_turn_returns_it(
    send: Callable[[StreamedSession, str], object],
) -> None:
    for result, error in (
        (failed("rate limited", "come back later"), BackendSessionError),
        (failed("timeout exceeded"), BackendTimeoutError),
    ):
        session = Session(result)
        with pytest.raises(error, match=result.error_reason) as caught:
            await send(session, "Hello")  # type: ignore[misc]
        assert caught.value.result is result
        assert await session.run_turn("Hello") is result


async def test_the_turn_limit_is_a_result() -> None:
    session = Session(failed("max_turns limit reached"))
    assert (await session.send("Hello")).is_error
    assert await in_pieces(session, "Hello") == ["Hello, ", "world"]


async def test_a_stream_that_just_stops_is_an_error_and_no_answer() -> None:
    session = Session(None)
    for turn in (session.send("a"), session.run_turn("a"), in_pieces(session, "a")):
        with pytest.raises(BackendSessionError, match="ended without a result"):
            await turn


async def test_leaving_the_pieces_early_leaves_the_stream() -> None:
    session = Session(ExecutionResult("Hello, world"))
    pieces = session.send_streaming("Hello")
    async for _ in pieces:
        break
    assert not session.left
    await pieces.aclose()
    assert session.left


async def test_cancelling_a_send_leaves_the_stream() -> None:
    session = Session(ExecutionResult("never"))
    sending = asyncio.create_task(session.send("hang"))
    await session.hangs.wait()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert session.left


async def test_whoever_reads_a_turn_sees_every_event_and_can_leave_by_raising() -> None:
    session = Session(ExecutionResult("Hello, world"))
    seen: list[TurnEvent] = []
    await read_turn(session.stream("Hello"), seen.append)
    assert [type(event).__name__ for event in seen] == [
        "TextDelta", "ThinkingDelta", "TextDelta", "TurnEnd",
    ]  # fmt: skip

    def refuse(_event: TurnEvent) -> None:
        raise BrokenPipeError

    session.left = False
    with pytest.raises(BrokenPipeError):
        await read_turn(session.stream("Hello"), refuse)
    assert session.left


async def test_events_end_after_the_end_of_the_turn_and_need_not_come_from_a_generator() -> None:
    events = TurnEvents()
    result = ExecutionResult("Hello")
    for event in (TextDelta("Hello"), TurnEnd(result), TextDelta("too late")):
        events.put(event)
    assert await read_turn(events) is result
    assert [event async for event in events] == []


def test_a_session_has_to_stream_and_to_close() -> None:
    class Half(StreamedSession):
        async def close(self) -> None:
            pass

    with pytest.raises(TypeError, match="stream"):
        Half()  # type: ignore[abstract]


async def test_a_session_written_before_there_were_files_works_and_takes_none() -> None:
    session = Session(ExecutionResult("Hello, world"))
    assert await session.send("Hello", files=[]) is session.result
    file = InputFile("a.txt", "text/plain", b"a")
    for turn in (session.send("a", files=[file]), session.run_turn("a", files=[file])):
        with pytest.raises(InputFileError, match="this session takes no files"):
            await turn


async def test_every_way_to_send_hands_the_files_on() -> None:
    class Taking(Session):
        def stream(
            self, message: str, *, files: Sequence[FileInput] = ()
        ) -> AsyncIterator[TurnEvent]:
            self.files = files
            return super().stream(message)

    session = Taking(ExecutionResult("Hello, world"))
    await session.send("Hello", files=["a.txt"])
    assert session.files == ["a.txt"]
    assert [text async for text in session.send_streaming("Hello", files=["b.txt"])]
    assert session.files == ["b.txt"]
