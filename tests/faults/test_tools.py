"""Tools that raise, hang, block, return anything, and do what they should not."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

from holodeck_backend_claude.concurrency import blocked_threads, loop_watch
from holodeck_backend_claude.contract import ExecutionResult, ImageContent, ToolCall, ToolResult
from holodeck_backend_claude.testing import ModelRequest, Reply, call_tool, forever, reply, say
from tests.faults.lab import FaultLab, blocking_tool, each, ended, found, tool
from tests.faults.registry import fault
from tests.support.probes import Probe

TOLD = "the model is told, answer"
RETURNED = "the model gets a text, answer"
CALL = call_tool("kb", {"query": "x"})
SCRIPT = [CALL, forever(say("Sorry."))]


def told(result: ExecutionResult) -> str:
    """How the turn went on after the last call of it."""
    last = result.tool_results[-1]
    assert last["result"].strip(), "the model was given no text"
    how = "the model is told" if last["is_error"] else "the model gets a text"
    return f"{how}, {ended(result)}"


class BrokenTextError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class OwnError(BaseException):
    pass


def recurse() -> NoReturn:
    recurse()
    raise AssertionError


EXCEPTIONS: dict[str, BaseException] = {
    "ValueError": ValueError("the index is gone"),
    "ValueError without a text": ValueError(),
    "KeyError": KeyError("id"),
    "AssertionError": AssertionError(),
    "an error whose text cannot be read": BrokenTextError(),
    "ExceptionGroup": ExceptionGroup("two", [ValueError("a"), OSError("b")]),
    "TimeoutError": TimeoutError(),
    "CancelledError": asyncio.CancelledError(),
    "SystemExit": SystemExit(3),
    "KeyboardInterrupt": KeyboardInterrupt(),
    "GeneratorExit": GeneratorExit(),
    "StopIteration": StopIteration(1),
    "StopAsyncIteration": StopAsyncIteration(1),
    "MemoryError": MemoryError(),
    "UnicodeDecodeError": UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    "a text with half a character": ValueError("\ud83d"),
    "a BaseException of its own": OwnError("no"),
    "BaseExceptionGroup": BaseExceptionGroup("two", [OwnError("a"), SystemExit(1)]),
}


async def how_each_goes_on(
    lab: FaultLab, values: dict[str, Any], do: Callable[[Any], Any], *, blocking: bool = False
) -> dict[str, str]:
    """One turn of one session for each value; the tool does ``do(value)``."""
    current: list[Any] = []

    def behave(_call: ToolCall) -> Any:
        return do(current[-1])

    probe = blocking_tool(behave) if blocking else tool(behave)
    backend = await lab.backend(await lab.api(), probe)
    session = await backend.create_session()

    async def try_one(value: str) -> str:
        current.append(values[value])
        lab.model_says(SCRIPT)
        return told(await session.run_turn("go"))

    return await each(tuple(values), try_one)


def throw(error: BaseException) -> NoReturn:
    raise error


@fault("tool", "raises", {**dict.fromkeys(EXCEPTIONS, TOLD), "endless recursion": TOLD})
async def test_tool_raises(lab: FaultLab) -> dict[str, str]:
    def do(value: BaseException | None) -> NoReturn:
        recurse() if value is None else throw(value)
        raise AssertionError

    return await how_each_goes_on(lab, {**EXCEPTIONS, "endless recursion": None}, do)


@fault("tool", "an ordinary function, in a thread, raises", dict.fromkeys(EXCEPTIONS, TOLD))
async def test_tool_raises_in_its_thread(lab: FaultLab) -> dict[str, str]:
    return await how_each_goes_on(lab, EXCEPTIONS, throw, blocking=True)


@dataclass
class Point:
    x: int


def generator() -> Iterator[int]:
    yield from (1, 2)


async def async_generator() -> AsyncIterator[int]:
    yield 1


async def coroutine() -> str:
    return "late"


def cycle() -> list[Any]:
    around: list[Any] = [1]
    around.append(around)
    return around


VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "a number": lambda: 17,
    "a number of 5000 digits": lambda: 10**5_000,
    "NaN and infinity": lambda: {"a": float("nan"), "b": float("inf")},
    "a text": lambda: "found",
    "an empty text": lambda: "",
    "half a character": lambda: "a\ud83db",
    "NUL and control characters": lambda: "a\x00b\x1b[31m\x07",
    "bytes": lambda: b"\x00\xff" * 100,
    "a bytearray": lambda: bytearray(b"abc"),
    "a list": lambda: ["x", 2, None],
    "a tuple": lambda: (1, "b"),
    "a set": lambda: {1, 2},
    "a dict": lambda: {"a": [1], 2: {"b": None}},
    "a dict like a result": lambda: {"content": 5, "isError": True},
    "a cycle": cycle,
    "a deep nest": lambda: __import__("functools").reduce(lambda a, _: [a], range(2_000), 1),
    "a generator": generator,
    "an async generator": async_generator,
    "a coroutine": coroutine,
    "a function": lambda: print,
    "a class": lambda: Point,
    "a dataclass": lambda: Point(1),
    "an exception": lambda: ValueError("returned, not raised"),
    "a date, a path, a decimal": lambda: [datetime.now(UTC), Path("x"), Decimal("1.5")],
    "an object": object,
    "a result without content": ToolResult,
    "a result with nonsense in it": lambda: ToolResult(content=(5, None)),  # type: ignore[arg-type]
    "a text of 50 MB": lambda: "x" * 50_000_000,
}


ONLY_ONCE = dict.fromkeys(("a generator", "an async generator"), TOLD)


@fault("tool", "returns", {**dict.fromkeys(VALUES, RETURNED), **ONLY_ONCE})
async def test_tool_returns(lab: FaultLab) -> dict[str, str]:
    return await how_each_goes_on(lab, VALUES, lambda make: make())


@fault("tool", "returns an image that is none", "answer")
async def test_tool_returns_a_broken_image(lab: FaultLab) -> str:
    def behave(_call: ToolCall) -> ToolResult:
        return ToolResult(content=(ImageContent(b"\x00\x01", "image/png"),))

    backend = await lab.backend(await lab.api(SCRIPT), tool(behave))
    return ended(await backend.invoke_once("go"))


@fault("tool", "hangs in an await: it is cancelled after its timeout", TOLD)
async def test_tool_hangs(lab: FaultLab) -> str:
    cancelled = asyncio.Event()

    async def behave(_call: ToolCall) -> ToolResult:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    backend = await lab.backend(await lab.api(SCRIPT), tool(behave), tool={"timeout": 0.3})
    result = await backend.invoke_once("go")
    assert cancelled.is_set()
    assert "limit of 0.3 s" in result.tool_results[0]["result"]
    return told(result)


@fault("tool", "hangs until the turn's time is over: it is cancelled", "timeout exceeded")
async def test_tool_outlasts_the_turn(lab: FaultLab) -> str:
    cancelled = asyncio.Event()

    async def behave(_call: ToolCall) -> ToolResult:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    backend = await lab.backend(await lab.api(SCRIPT), tool(behave), execution={"llm_timeout": 2})
    got = ended(await backend.invoke_once("go"))
    await asyncio.wait_for(cancelled.wait(), 5)
    return got


@fault(
    "tool",
    "an ordinary function blocks its thread for ever",
    TOLD,
    left="the thread; it is counted, and delays no exit",
)
async def test_tool_blocks_its_thread(lab: FaultLab) -> str:
    gate = threading.Event()
    before = blocked_threads()

    def behave(_call: ToolCall) -> str:
        gate.wait(60)
        return "late"

    backend = await lab.backend(await lab.api(SCRIPT), blocking_tool(behave), tool={"timeout": 0.3})
    got = told(await backend.invoke_once("go"))
    assert blocked_threads() == before + 1
    assert "its thread still runs" in lab.caplog.text
    lab.stack.callback(gate.set)
    return got


@fault("tool", "blocks the event loop: it is named in the log", "timeout exceeded")
async def test_tool_blocks_the_event_loop(lab: FaultLab) -> str:
    lab.monkeypatch.setattr(loop_watch, "BLOCKED_SECONDS", 0.3)
    lab.caplog.set_level(logging.WARNING)

    async def behave(_call: ToolCall) -> str:
        time.sleep(2.5)
        return "late"

    backend = await lab.backend(await lab.api(SCRIPT), tool(behave), execution={"llm_timeout": 2})
    got = ended(await backend.invoke_once("go"))
    assert "tool 'kb' has blocked the event loop" in lab.caplog.text
    return got


@fault("tool", "swallows its cancellation", TOLD, left="its task, until it ends by itself")
async def test_tool_swallows_its_cancellation(lab: FaultLab) -> str:
    gate = asyncio.Event()

    async def behave(_call: ToolCall) -> str:
        while not gate.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await gate.wait()
        return "late"

    backend = await lab.backend(await lab.api(SCRIPT), tool(behave), tool={"timeout": 0.3})
    got = told(await backend.invoke_once("go"))
    assert "ignores its cancellation" in lab.caplog.text
    gate.set()
    return got


@fault("tool", "cancels the task it runs in", TOLD)
async def test_tool_cancels_its_task(lab: FaultLab) -> str:
    async def behave(_call: ToolCall) -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        return "late"

    backend = await lab.backend(await lab.api(SCRIPT), tool(behave))
    return told(await backend.invoke_once("go"))


@fault("tool", "leaves a task behind", RETURNED, left="its own task, which is its own to end")
async def test_tool_leaves_a_task_behind(lab: FaultLab) -> str:
    tasks: list[asyncio.Task[bool]] = []

    async def behave(_call: ToolCall) -> str:
        tasks.append(asyncio.create_task(asyncio.Event().wait()))
        return "found"

    backend = await lab.backend(await lab.api(SCRIPT), tool(behave))
    got = told(await backend.invoke_once("go"))
    for task in tasks:
        assert not task.done()
        task.cancel()
    return got


@fault("tool", "starts a thread that raises", RETURNED)
async def test_tool_starts_a_thread_that_raises(lab: FaultLab) -> str:
    raised: list[str] = []
    lab.monkeypatch.setattr(threading, "excepthook", lambda args: raised.append(str(args[1])))

    def behave(_call: ToolCall) -> str:
        thread = threading.Thread(target=throw, args=(ValueError("in a thread"),))
        thread.start()
        thread.join()
        return "found"

    backend = await lab.backend(await lab.api(SCRIPT), tool(behave))
    got = told(await backend.invoke_once("go"))
    assert raised == ["in a thread"]
    return got


@fault("tool", "closes the event loop that it runs in", TOLD)
async def test_tool_closes_the_loop(lab: FaultLab) -> str:
    async def behave(_call: ToolCall) -> None:
        asyncio.get_running_loop().close()

    backend = await lab.backend(await lab.api(SCRIPT), tool(behave))
    return told(await backend.invoke_once("go"))


@fault("tool", "changes the arguments it was given: the result keeps the model's", RETURNED)
async def test_tool_changes_its_arguments(lab: FaultLab) -> str:
    def behave(call: ToolCall) -> str:
        with contextlib.suppress(TypeError):
            call.arguments["query"] = "changed"  # type: ignore[index]
        return "found"

    backend = await lab.backend(await lab.api(SCRIPT), tool(behave))
    result = await backend.invoke_once("go")
    assert result.tool_calls[0]["arguments"] == {"query": "x"}
    return told(result)


@fault("tool", "asks its own agent", RETURNED)
async def test_tool_asks_its_agent(lab: FaultLab) -> str:
    async def behave(_call: ToolCall) -> str:
        inner = await backend.invoke_once("a question within")
        return inner.response

    script = [CALL, say("from within"), forever(say("Done."))]
    backend = await lab.backend(await lab.api(script), tool(behave))
    result = await backend.invoke_once("go")
    assert result.tool_results[0]["result"] == "from within"
    return told(result)


@fault("tool", "is called 20 times in one answer, four at once", RETURNED)
async def test_tool_is_called_often(lab: FaultLab) -> str:
    running, most = 0, 0

    async def behave(_call: ToolCall) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return "found"

    calls = [call_tool("kb", {"query": str(n)}) for n in range(20)]
    backend = await lab.backend(await lab.api([reply(*calls), say("Done.")]), tool(behave))
    result = await backend.invoke_once("go")
    assert len(result.tool_results) == 20
    assert most <= 4
    return told(result)


@fault(
    "tool",
    "fails, with `on_error: fail`",
    {
        "raises": "tool execution failed: kb",
        "is out of time": "tool execution failed: kb",
        "returns an error": "tool execution failed: kb",
        "is called with wrong arguments": "answer",
    },
)
async def test_tool_fails_the_run(lab: FaultLab) -> dict[str, str]:
    async def behave(call: ToolCall) -> Any:
        match call.arguments["query"]:
            case "raises":
                raise ValueError("no")
            case "is out of time":
                await asyncio.Event().wait()
        return ToolResult.from_text("no", is_error=True)

    said = {"on_error": "fail", "timeout": 0.3}
    backend = await lab.backend(await lab.api(), tool(behave), tool=said)
    session = await backend.create_session()

    def answer(request: ModelRequest) -> Reply:
        if request.messages[-1].tool_results:
            return say("Done.")
        way = request.last_user_text.strip()
        return call_tool("kb", {"quarry": "x"} if "wrong" in way else {"query": way})

    lab.model_says([forever(answer)])

    async def try_one(value: str) -> str:
        return ended(await session.run_turn(value))

    ways = ("raises", "is out of time", "returns an error", "is called with wrong arguments")
    return await each(ways, try_one)


@fault("tool", "one of several called at once fails, hangs or blocks: the others answer", "answer")
async def test_tool_beside_others(lab: FaultLab) -> str:
    async def hang(_call: ToolCall) -> None:
        await asyncio.Event().wait()

    probes: list[Probe] = [
        tool(found, "good"),
        tool(lambda _: throw(SystemExit(1)), "bad"),
        tool(hang, "slow"),
    ]
    calls = [call_tool(probe.name, {"query": "x"}, call_id=probe.name) for probe in probes]
    script = [reply(*calls), say("Done.")]
    backend = await lab.backend(await lab.api(script), *probes, tool={"timeout": 0.3})
    result = await backend.invoke_once("go")
    errors = {each["call_id"]: each["is_error"] for each in result.tool_results}
    assert errors == {"good": False, "bad": True, "slow": True}
    return ended(result)
