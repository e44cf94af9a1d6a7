"""Who gets which session, and what becomes of those that nobody gets."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from holodeck_backend_claude.claude import pool
from holodeck_backend_claude.claude.pool import WarmSessions
from holodeck_backend_claude.contract import BackendSessionError


class Session:
    """A session that opens when it is told to."""

    def __init__(self, *, fails: bool = False) -> None:
        self.may_open = asyncio.Event()
        self.opening = False
        self.is_ready = False
        self.closed = 0
        self._fails = fails

    async def open(self) -> None:
        self.opening = True
        await self.may_open.wait()
        if self._fails:
            raise BackendSessionError("out of order")
        self.is_ready = True

    async def close(self) -> None:
        self.is_ready = False
        self.closed += 1


class Made(list[Session]):
    """Every session a pool made, oldest first; those to come open at once where ``quick``."""

    def __init__(self, *, quick: bool = True) -> None:
        super().__init__()
        self.quick = quick
        self.fails = False

    def __call__(self) -> Any:
        self.append(Session(fails=self.fails))
        if self.quick:
            self[-1].may_open.set()
        return self[-1]


async def take(sessions: WarmSessions) -> Any:
    return await sessions.take()


@pytest.fixture(autouse=True)
def _two_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "STARTS_AT_ONCE", 2)


async def test_without_a_size_nothing_is_connected_ahead() -> None:
    made = Made()
    sessions = WarmSessions(made, size=0)
    sessions.fill()
    assert made == []
    taken = await take(sessions)
    assert [taken] == made
    await sessions.close()
    assert made[0].closed == 0  # it is its taker's


async def test_each_session_is_handed_out_once_and_replaced_by_a_new_one() -> None:
    made = Made()
    sessions = WarmSessions(made, size=2)
    sessions.fill()
    taken = [await take(sessions) for _ in range(5)]
    assert len(set(map(id, taken))) == 5
    await sessions.wait_filled()
    assert len(made) == 7
    await sessions.close()
    assert [session.closed for session in made] == [0] * 5 + [1] * 2


async def test_only_so_many_are_started_at_once() -> None:
    made = Made(quick=False)
    sessions = WarmSessions(made, size=4)
    sessions.fill()
    await asyncio.sleep(0)
    assert [session.opening for session in made] == [True, True, False, False]
    for session in made:
        session.may_open.set()
    await sessions.wait_filled()
    assert all(session.is_ready for session in made)
    await sessions.close()


async def test_whoever_comes_while_it_is_connected_waits_for_it_and_the_next_starts_one() -> None:
    made = Made(quick=False)
    sessions = WarmSessions(made, size=1)
    sessions.fill()
    first = asyncio.create_task(take(sessions))
    second = asyncio.create_task(take(sessions))
    await asyncio.sleep(0)
    assert len(made) == 2
    made.quick = True
    for session in tuple(made):
        session.may_open.set()
    assert [await first, await second] == made[:2]
    await sessions.close()


async def test_one_that_has_ended_by_itself_is_closed_and_passed_over() -> None:
    made = Made()
    sessions = WarmSessions(made, size=2)
    sessions.fill()
    await sessions.wait_filled()
    made[0].is_ready = False
    assert await take(sessions) is made[1]
    await sessions.close()
    assert made[0].closed == 1


async def test_those_who_give_up_leave_no_more_than_was_asked_for() -> None:
    made = Made(quick=False)
    sessions = WarmSessions(made, size=1)
    sessions.fill()
    waiting = asyncio.create_task(take(sessions))
    await asyncio.sleep(0)
    sessions.fill()  # as after a conversation that began meanwhile
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    for session in made:
        session.may_open.set()
    await sessions.wait_filled()
    while made[0].closed == 0:
        await asyncio.sleep(0)
    assert await take(sessions) is made[1]
    await sessions.close()


async def test_a_failed_start_is_logged_for_developers_and_raised_to_the_next_taker(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    made = Made()
    made.fails = True
    sessions = WarmSessions(made, size=1)
    sessions.fill()
    await sessions.wait_filled()
    assert [(r.levelname, "out of order" in r.message) for r in caplog.records] == [("DEBUG", True)]
    with pytest.raises(BackendSessionError, match="out of order"):
        await take(sessions)
    assert len(made) == 2  # one for the pool, one for the taker
    await sessions.close()


async def test_closing_ends_what_is_being_connected_also_where_somebody_waits_for_it() -> None:
    made = Made(quick=False)
    sessions = WarmSessions(made, size=3)
    sessions.fill()
    waiting = [asyncio.create_task(take(sessions)) for _ in range(2)]
    await asyncio.sleep(0)
    waiting[1].cancel()
    await sessions.close()
    sessions.fill()
    assert [session.closed for session in made] == [1, 1, 1]
    with pytest.raises(BackendSessionError) as error:
        await waiting[0]
    assert error.value.result is not None
    assert error.value.result.error_reason == "interrupted"
    await asyncio.wait(waiting)
    assert waiting[1].cancelled()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert len(made) == 3


async def test_one_that_is_connected_when_it_is_closed_is_not_handed_out() -> None:
    made = Made(quick=False)
    sessions = WarmSessions(made, size=1)
    sessions.fill()
    waiting = asyncio.create_task(take(sessions))
    await asyncio.sleep(0)
    made[0].may_open.set()
    while not made[0].is_ready:
        await asyncio.sleep(0)
    await sessions.close()
    with pytest.raises(BackendSessionError, match="was closed"):
        await waiting
    assert [session.closed for session in made] == [1]


def test_sessions_of_an_event_loop_that_is_over_are_given_up() -> None:
    made = Made()
    sessions = WarmSessions(made, size=1)

    async def fill() -> None:
        sessions.fill()
        await sessions.wait_filled()

    async def use() -> None:
        assert await take(sessions) is made[1]
        await sessions.close()

    asyncio.run(fill())
    asyncio.run(use())
    assert [session.closed for session in made] == [1, 0, 1]


def test_closing_in_another_loop_gives_up_what_is_left() -> None:
    made = Made()
    sessions = WarmSessions(made, size=1)

    async def fill() -> None:
        sessions.fill()
        await sessions.wait_filled()

    asyncio.run(fill())
    asyncio.run(sessions.close())
    assert [session.closed for session in made] == [1]
