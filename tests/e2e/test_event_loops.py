"""Sessions and backends that are used in one event loop and ended from another."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from holodeck_backend_claude.claude.backend import ClaudeBackend
from holodeck_backend_claude.claude.session import ClaudeSession
from holodeck_backend_claude.concurrency import in_thread
from holodeck_backend_claude.testing import ScriptedMessagesAPI, forever, hang, say
from tests.support.probes import registry_of

from .lab import Lab, children
from .test_resumed_sessions import SQLITE

WARM = {"warm_clients": 1}


async def begin(
    lab: Lab, api: ScriptedMessagesAPI, settings: dict[str, Any]
) -> tuple[ClaudeBackend, ClaudeSession]:
    """A backend with a session, for whichever loop this runs in."""
    backend = ClaudeBackend(lab.agent(api, settings=settings), registry_of())
    await backend.initialize()
    return backend, await backend.create_session()


@asynccontextmanager
async def running_loop() -> AsyncIterator[asyncio.AbstractEventLoop]:
    """A loop that another thread runs."""
    loop = asyncio.new_event_loop()
    thread = asyncio.create_task(in_thread(loop.run_forever))
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        await thread
        loop.close()


async def there(loop: asyncio.AbstractEventLoop, work: Any) -> Any:
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


@pytest.mark.parametrize("is_closed", [False, True])
@pytest.mark.parametrize("whole", [False, True])
async def test_what_is_left_of_a_loop_that_runs_no_longer_is_ended_from_another(
    lab: Lab, whole: bool, is_closed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    api = await lab.api(forever(say("ok")))
    loop = asyncio.new_event_loop()
    backend, session = await in_thread(loop.run_until_complete, begin(lab, api, SQLITE))
    await in_thread(loop.run_until_complete, session.send("Hi"))
    if is_closed:
        loop.close()
    await (backend.teardown() if whole else session.close())
    assert children() == []
    assert backend._sessions == set()
    other = await lab.backend(api, settings=SQLITE)
    resumed = await other.create_session(resume=session.session_id)
    assert (await resumed.send("And now?")).response == "ok"
    await session.close()
    await backend.teardown()
    told = {record.name for record in caplog.records}
    assert told <= {"asyncio"}  # which some Pythons have tell of a process whose loop is closed
    loop.close()


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("settings", [{}, WARM])
async def test_what_a_loop_in_another_thread_runs_is_ended_there(
    lab: Lab, whole: bool, settings: dict[str, Any]
) -> None:
    asked = asyncio.Event()

    async def answer(_request: object) -> Any:
        asked.set()
        return hang()

    api = await lab.api([answer])
    async with running_loop() as loop:
        backend, session = await there(loop, begin(lab, api, settings))
        turn = asyncio.run_coroutine_threadsafe(session.run_turn("Hi"), loop)
        await asked.wait()
        await (backend.teardown() if whole else session.close())
        assert (await asyncio.wrap_future(turn)).error_reason == "interrupted"
        assert session.pid is None
        await backend.teardown()
        assert children() == []


@pytest.mark.parametrize("is_closed", [False, True])
async def test_what_was_connected_ahead_in_a_loop_that_runs_no_longer_is_ended_from_another(
    lab: Lab, is_closed: bool
) -> None:
    api = await lab.api(forever(say("ok")))
    loop = asyncio.new_event_loop()
    backend, _ = await in_thread(loop.run_until_complete, begin(lab, api, WARM))
    if is_closed:
        loop.close()
    assert (await backend.invoke_once("Hi")).response == "ok"
    await backend.teardown()
    assert children() == []
    loop.close()


async def test_a_session_whose_loop_runs_once_more_has_ended(lab: Lab) -> None:
    api = await lab.api([hang()])
    loop = asyncio.new_event_loop()
    backend, session = await in_thread(loop.run_until_complete, begin(lab, api, {}))
    turn = loop.create_task(session.run_turn("Hi"))
    await in_thread(loop.run_until_complete, asyncio.sleep(0.01))
    await session.close()
    assert children() == []
    result = await in_thread(loop.run_until_complete, turn)
    assert result.error_reason == "interrupted"
    await backend.teardown()
    loop.close()
