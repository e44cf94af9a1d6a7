"""Many sessions, at once and one after the other, and event loops that follow each other."""

from __future__ import annotations

import asyncio
import os
import threading

from holodeck_backend_claude.concurrency import in_thread
from holodeck_backend_claude.testing import forever, say
from tests.e2e.lab import children
from tests.faults.lab import FaultLab, ended
from tests.faults.registry import SESSIONS, fault


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


@fault("scale", "100 sessions, one after the other", "answer, 100 times; no descriptor is lost")
async def test_sessions_one_after_the_other(lab: FaultLab) -> str:
    _, backend = await lab.backend_with_stand_in()
    await backend.invoke_once("Hi")
    before = descriptors()
    for _ in range(100):
        session = await backend.create_session()
        assert ended(await session.send("Hi")) == "answer"
        await session.close()
    lost = descriptors() - before
    return f"answer, 100 times; {'no descriptor is' if lost <= 0 else f'{lost} are'} lost"


@fault(
    "scale",
    "sessions of the real program, one after the other: 100 in `make faults`, 5 in CI",
    "answer; no descriptor is lost",
)
async def test_real_sessions_one_after_the_other(lab: FaultLab) -> str:
    api = await lab.api()
    lab.model_says([forever(lambda request: say(f"echo {request.last_user_text.strip()}"))])
    backend = await lab.backend(api)
    await backend.invoke_once("Hi")
    before = descriptors()
    for number in range(int(os.environ.get(SESSIONS, "5"))):
        session = await backend.create_session()
        result = await session.send(f"q{number}")
        assert (ended(result), result.response) == ("answer", f"echo q{number}")
        await session.close()
        assert len(children()) == 0
    lost = descriptors() - before
    return f"answer; {'no descriptor is' if lost <= 0 else f'{lost} are'} lost"


@fault("scale", "20 sessions at once, each with the answer to its own question", "answer, 20 times")
async def test_sessions_at_once(lab: FaultLab) -> str:
    api = await lab.api()
    lab.model_says([forever(lambda request: say(f"echo {request.last_user_text.strip()}"))])
    backend = await lab.backend(api)
    questions = [f"q{number}" for number in range(20)]
    results = await asyncio.gather(*map(backend.invoke_once, questions))
    assert [result.response for result in results] == [f"echo {q}" for q in questions]
    assert set(map(ended, results)) == {"answer"}
    return "answer, 20 times"


@fault("scale", "one agent in two event loops, one after the other", "answer, answer")
async def test_two_event_loops(lab: FaultLab) -> str:
    _, backend = await lab.backend_with_stand_in()
    await backend.teardown()
    got: list[str] = []

    async def once() -> str:
        await backend.initialize()
        result = await backend.invoke_once("Hi")
        await backend.teardown()
        return ended(result)

    def in_a_loop_of_its_own() -> None:
        got.append(asyncio.run(once()))

    for _ in range(2):
        thread = threading.Thread(target=in_a_loop_of_its_own)
        thread.start()
        while thread.is_alive():
            await asyncio.sleep(0.01)
    return ", ".join(got)


@fault(
    "scale",
    "one agent in two event loops, the first of which ended before anything was closed",
    {"stopped": "answer, answer", "closed": "answer, answer"},
)
async def test_an_event_loop_that_ended_too_early(lab: FaultLab) -> dict[str, str]:
    got = {}
    for how in ("stopped", "closed"):
        _, backend = await lab.backend_with_stand_in()
        loop = asyncio.new_event_loop()
        session = await in_thread(loop.run_until_complete, backend.create_session())
        first = await in_thread(loop.run_until_complete, session.send("Hi"))
        if how == "closed":
            loop.close()
        second = await backend.invoke_once("Hi")
        await session.close()
        await backend.teardown()
        assert children() == []
        loop.close()
        got[how] = f"{ended(first)}, {ended(second)}"
    return got


@fault(
    "scale",
    "teardown() while runs wait for their process: nothing starts after it",
    "interrupted, 4 times",
)
async def test_teardown_while_processes_start(lab: FaultLab) -> str:
    _, backend = await lab.backend_with_stand_in(settings={"warm_clients": 2})
    runs = [asyncio.create_task(backend.invoke_once("Hi")) for _ in range(4)]
    while not backend.warm._claimed:
        await asyncio.sleep(0)
    await backend.teardown()
    assert {ended(result) for result in await asyncio.gather(*runs)} == {"interrupted"}
    assert children() == []
    return "interrupted, 4 times"
