"""A session that can stream a turn can send one: what the sessions of all backends share."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Self

from holodeck_backend_claude.contract import (
    BackendSessionError,
    ExecutionResult,
    FileInput,
    TextDelta,
    TurnEnd,
    TurnEvent,
)
from holodeck_backend_claude.input_files import check_takes_files
from holodeck_backend_claude.outcomes import check_turn


class StreamedSession(ABC):
    """An :class:`~holodeck_backend_claude.contract.AgentSession` over its ``stream``.

    A backend's session brings ``stream`` and ``close``; the other ways to send a message follow
    from them, with the results and errors of the contract.
    """

    @abstractmethod
    def stream(self, message: str) -> AsyncIterator[TurnEvent]:
        """Run one turn, yielding typed events; the last one is a :class:`TurnEnd`.

        A session that takes files has the keyword ``files: Sequence[FileInput] = ()`` here, too;
        it is left out where there are none. :func:`~holodeck_backend_claude.input_files.read_files`
        reads them.

        Written as an async generator it is closed when its reader leaves early, which is to stop
        the turn.
        """

    @abstractmethod
    async def close(self) -> None:
        """End the conversation and release what it holds; may be called twice."""

    async def run_turn(self, message: str, *, files: Sequence[FileInput] = ()) -> ExecutionResult:
        """Run one turn and return its result, a failed one too.

        Raises:
            BackendSessionError: No turn could begin, or it ended without a result.
            InputFileError: A file cannot be sent, or the session takes none.
        """
        return await read_turn(self._events(message, files))

    async def send(self, message: str, *, files: Sequence[FileInput] = ()) -> ExecutionResult:
        """Run one turn and return its result; see the contract."""
        return check_turn(await self.run_turn(message, files=files))

    async def send_streaming(
        self, message: str, *, files: Sequence[FileInput] = ()
    ) -> AsyncGenerator[str, None]:
        """Run one turn, yielding text deltas; see the contract."""
        events = self._events(message, files)
        async with _closing(events):
            async for event in events:
                match event:
                    case TextDelta(text=text):
                        yield text
                    case TurnEnd(result=result):
                        check_turn(result)
                        return
        raise _no_result()

    def _events(self, message: str, files: Sequence[FileInput]) -> AsyncIterator[TurnEvent]:
        if not files:
            return self.stream(message)
        stream: Callable[..., AsyncIterator[TurnEvent]] = self.stream
        check_takes_files(stream, "this session")
        return stream(message, files=files)


async def read_turn(
    events: AsyncIterator[TurnEvent], show: Callable[[TurnEvent], object] = lambda _event: None
) -> ExecutionResult:
    """Read the events of a turn to their end and return its result.

    Args:
        events: What a session's ``stream`` returns. It is closed where this is cancelled or
            ``show`` raises.
        show: Called with each event.

    Raises:
        BackendSessionError: The events ended without a result.
    """
    async with _closing(events):
        async for event in events:
            show(event)
            if isinstance(event, TurnEnd):
                return event.result
    raise _no_result()


class TurnEvents:
    """The events of one turn on their way from the task that runs it to whoever reads them."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[TurnEvent] = asyncio.Queue()
        self._ended = False

    def put(self, event: TurnEvent) -> None:
        """Hand an event on; it never waits."""
        self._queue.put_nowait(event)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TurnEvent:
        if self._ended:
            raise StopAsyncIteration
        event = await self._queue.get()
        self._ended = isinstance(event, TurnEnd)
        return event


@asynccontextmanager
async def _closing(events: AsyncIterator[TurnEvent]) -> AsyncIterator[None]:
    """Close the events at the end where they can be, which stops a turn that still runs."""
    try:
        yield
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()


def _no_result() -> BackendSessionError:
    return BackendSessionError("the turn ended without a result")
