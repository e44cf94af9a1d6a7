"""Whoever asked leaves, closes, or asks in another way than one should."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from holodeck_backend_claude.claude.session import ClaudeSession
from holodeck_backend_claude.contract import ToolCall, TurnEvent
from holodeck_backend_claude.testing import (
    Answer,
    ModelRequest,
    call_tool,
    forever,
    hang,
    hold,
    say,
)
from tests.faults.lab import FaultLab, each, ended, outcome, tool
from tests.faults.registry import fault

INTERRUPTED = "interrupted"
CANCELLED = "CancelledError"
USABLE = "the session goes on"


class Moments:
    """A turn that waits at the moment asked for, until it is stopped."""

    POINTS = ("before the model is asked", "before the first words", "while it writes", "in a tool")

    def __init__(self, lab: FaultLab) -> None:
        self._lab = lab
        self.reached = asyncio.Event()

    def _here(self, answer: Answer) -> Any:
        async def step(_request: ModelRequest) -> Answer:
            self.reached.set()
            return answer

        return step

    async def tool_that_waits(self, _call: ToolCall) -> None:
        self.reached.set()
        await asyncio.Event().wait()

    def wait_at(self, point: str) -> None:
        self.reached.clear()
        writing = say("one two", chunks=["one ", "two"])
        scripts = {
            "before the model is asked": [hang()],
            "before the first words": [self._here(hang())],
            "while it writes": [self._here(hold(writing, asyncio.Event(), after_pieces=1))],
            "in a tool": [call_tool("kb", {"query": "x"})],
        }
        self._lab.model_says(scripts[point])
        if point == "before the model is asked":
            self.reached.set()


async def session_goes_on(lab: FaultLab, session: ClaudeSession) -> str:
    lab.model_says([forever(say("next"))])
    result = await session.run_turn("And now?")
    assert result.response == "next"
    return USABLE


@fault("cancel", "send() is cancelled", dict.fromkeys(Moments.POINTS, USABLE))
async def test_send_is_cancelled(lab: FaultLab) -> dict[str, str]:
    moments = Moments(lab)
    backend = await lab.backend(await lab.api(), tool(moments.tool_that_waits))
    session = await backend.create_session()

    async def try_one(point: str) -> str:
        moments.wait_at(point)
        turn = asyncio.create_task(session.send("Hi"))
        await moments.reached.wait()
        turn.cancel()
        await asyncio.wait({turn})
        assert turn.cancelled()
        return await session_goes_on(lab, session)

    return await each(Moments.POINTS, try_one)


@fault("cancel", "invoke_once() is cancelled", dict.fromkeys(Moments.POINTS, CANCELLED))
async def test_invoke_once_is_cancelled(lab: FaultLab) -> dict[str, str]:
    moments = Moments(lab)
    backend = await lab.backend(await lab.api(), tool(moments.tool_that_waits))

    async def try_one(point: str) -> str:
        moments.wait_at(point)
        run = asyncio.create_task(backend.invoke_once("Hi"))
        await moments.reached.wait()
        await asyncio.sleep(0)
        run.cancel()
        await asyncio.wait({run})
        assert backend._sessions == set()
        return CANCELLED if run.cancelled() else ended(run.result())

    return await each(Moments.POINTS, try_one)


@fault("cancel", "a turn is cancelled after its result", USABLE)
async def test_cancelled_after_the_result(lab: FaultLab) -> str:
    backend = await lab.backend(await lab.api([say("one")]))
    session = await backend.create_session()
    events = session.stream("Hi")
    async for _event in events:
        pass
    await events.aclose()
    assert not await session.interrupt()
    return await session_goes_on(lab, session)


@fault(
    "cancel",
    "the reader of a stream leaves early",
    {
        "by break": USABLE,
        "by an exception": USABLE,
        "by aclose()": USABLE,
        "by forgetting it": USABLE,
        "before the first event": USABLE,
    },
)
async def test_reader_leaves(lab: FaultLab) -> dict[str, str]:
    backend = await lab.backend(await lab.api())
    session = await backend.create_session()

    async def leave(way: str, events: AsyncIterator[TurnEvent]) -> None:
        if way == "before the first event":
            return
        async for _event in events:
            if way == "by an exception":
                raise ValueError
            if way == "by aclose()":
                await events.aclose()  # type: ignore[attr-defined]
            break

    async def try_one(way: str) -> str:
        gate = asyncio.Event()
        lab.model_says([hold(say("one two", chunks=["one ", "two"]), gate, after_pieces=1)])
        try:
            await leave(way, session.stream("Hi"))
        except ValueError:
            assert way == "by an exception"
        gc.collect()
        await asyncio.sleep(0)
        return await session_goes_on(lab, session)

    ways = ("by break", "by an exception", "by aclose()", "by forgetting it")
    return await each((*ways, "before the first event"), try_one)


async def running_turn(lab: FaultLab, session: ClaudeSession) -> asyncio.Task[str]:
    moments = Moments(lab)
    moments.wait_at("while it writes")
    turn = asyncio.create_task(outcome(session.send("Hi")))
    await moments.reached.wait()
    return turn


@fault(
    "cancel",
    "closed in the middle of a turn",
    {
        "session.close()": f"BackendSessionError: {INTERRUPTED}",
        "backend.teardown()": f"BackendSessionError: {INTERRUPTED}",
        "session.interrupt()": f"BackendSessionError: {INTERRUPTED}",
    },
)
async def test_closed_in_a_turn(lab: FaultLab) -> dict[str, str]:
    backend = await lab.backend(await lab.api())

    async def try_one(way: str) -> str:
        session = await backend.create_session()
        turn = await running_turn(lab, session)
        match way:
            case "session.close()":
                await session.close()
            case "session.interrupt()":
                assert await session.interrupt()
            case _:
                await backend.teardown()
        got = await turn
        await session.close()
        return got

    ways = ("session.close()", "session.interrupt()", "backend.teardown()")
    return await each(ways, try_one)


@fault(
    "cancel",
    "torn down while a process starts",
    {"at once": INTERRUPTED, "a moment later": INTERRUPTED},
)
async def test_torn_down_while_it_starts(lab: FaultLab) -> dict[str, str]:
    waits = {"at once": 0.0, "a moment later": 0.05}
    api = await lab.api([forever(hang())])

    async def try_one(value: str) -> str:
        backend = await lab.backend(api)
        run = asyncio.create_task(backend.invoke_once("Hi"))
        session = asyncio.create_task(backend.create_session())
        await asyncio.sleep(waits[value])
        await backend.teardown()
        got = ended(await run)
        await asyncio.wait({session})
        assert session.exception() is not None
        return got

    return await each(tuple(waits), try_one)


@fault(
    "cancel",
    "closed twice, and used afterwards",
    {
        "a closed session": "BackendSessionError",
        "a backend that was torn down": "BackendSessionError",
        "a backend before initialize()": "BackendSessionError",
    },
)
async def test_used_after_its_end(lab: FaultLab) -> dict[str, str]:
    api = await lab.api([forever(say("A"))])
    backend = await lab.backend(api)
    session = await backend.create_session()
    got = {}
    for _ in range(2):
        await session.close()
    got["a closed session"] = (await outcome(session.send("Hi"))).partition(":")[0]
    for _ in range(2):
        await backend.teardown()
    got["a backend that was torn down"] = (await outcome(backend.invoke_once("x"))).partition(":")[
        0
    ]
    fresh = lab.backend_type(lab.agent(api), backend._open_tools._registry)
    got["a backend before initialize()"] = (await outcome(fresh.invoke_once("x"))).partition(":")[0]
    return got


@fault("cancel", "a task group around a turn ends by another task's error", USABLE)
async def test_task_group_ends(lab: FaultLab) -> str:
    backend = await lab.backend(await lab.api())
    session = await backend.create_session()
    moments = Moments(lab)
    moments.wait_at("while it writes")

    async def fail() -> None:
        await moments.reached.wait()
        raise ValueError

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(session.send("Hi"))
            group.create_task(fail())
    except* ValueError:
        pass
    return await session_goes_on(lab, session)


@fault("cancel", "asyncio.timeout() around a turn: the caller's TimeoutError", USABLE)
async def test_timeout_of_the_caller(lab: FaultLab) -> str:
    backend = await lab.backend(await lab.api([forever(hang())]))
    session = await backend.create_session()
    try:
        async with asyncio.timeout(0.3):
            await session.send("Hi")
    except TimeoutError:
        return await session_goes_on(lab, session)
    return "no TimeoutError"


@fault("cancel", "two send() at once: the second waits", "answer, answer")
async def test_two_at_once(lab: FaultLab) -> str:
    backend = await lab.backend(await lab.api([say("A"), say("B")]))
    session = await backend.create_session()
    results = await asyncio.gather(session.send("1"), session.send("2"))
    assert [result.response for result in results] == ["A", "B"]
    return ", ".join(map(ended, results))


@fault("cancel", "the second of two send() is cancelled while it waits", "answer")
async def test_waiting_turn_is_cancelled(lab: FaultLab) -> str:
    gate = asyncio.Event()
    api = await lab.api([hold(say("A"), gate), say("never")])
    backend = await lab.backend(api)
    session = await backend.create_session()
    first = asyncio.create_task(session.send("1"))
    second = asyncio.create_task(session.send("2"))
    await api.wait_for_requests(1)
    second.cancel()
    await asyncio.wait({second})
    gate.set()
    got = ended(await first)
    assert await session_goes_on(lab, session) == USABLE
    assert "2" not in [m.text for m in api.requests[-1].messages]
    return got


@fault(
    "cancel",
    "a session is used in another event loop, in another thread",
    "BackendSessionError: the session belongs to another event loop",
)
async def test_another_loop(lab: FaultLab) -> str:
    backend = await lab.backend(await lab.api([forever(say("A"))]))
    session = await backend.create_session()
    got: list[str] = []

    def elsewhere() -> None:
        got.append(asyncio.run(outcome(session.send("Hi"))))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    while thread.is_alive():
        await asyncio.sleep(0.01)
    assert ended(await session.send("Hi")) == "answer"
    return got[0]


@fault("cancel", "a message that is no text", {"None": "TypeError", "5": "TypeError"})
async def test_no_text(lab: FaultLab) -> dict[str, str]:
    backend = await lab.backend(await lab.api([forever(say("A"))]))
    session = await backend.create_session()
    got = {}
    for message in (None, 5):
        with pytest.raises(TypeError, match="a message is a text") as error:
            await session.send(message)  # type: ignore[arg-type]
        got[str(message)] = error.type.__name__
    assert ended(await session.send("Hi")) == "answer"
    return got
