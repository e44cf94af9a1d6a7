"""Only so many processes start at once, and none waits for others without end."""

from __future__ import annotations

import asyncio

import pytest

from holodeck_backend_claude.claude.process import start_slots
from holodeck_backend_claude.claude.process.start_slots import start_slot


@pytest.fixture(autouse=True)
def _two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_slots, "STARTS_AT_ONCE", 2)


class Starts:
    """Starts that go on until they are told to end."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.may_end = [asyncio.Event() for _ in range(5)]

    async def one(self, number: int) -> None:
        async with start_slot():
            self.begun.append(number)
            await self.may_end[number].wait()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_the_third_waits_for_one_of_the_first_two_in_the_order_of_coming() -> None:
    starts = Starts()
    tasks = [asyncio.create_task(starts.one(number)) for number in range(4)]
    await settle()
    assert starts.begun == [0, 1]
    starts.may_end[1].set()
    await settle()
    assert starts.begun == [0, 1, 2]
    tasks[0].cancel()
    await settle()
    assert starts.begun == [0, 1, 2, 3]
    for event in starts.may_end:
        event.set()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_one_that_is_given_up_while_it_waits_takes_no_slot() -> None:
    starts = Starts()
    tasks = [asyncio.create_task(starts.one(number)) for number in range(4)]
    await settle()
    tasks[2].cancel()
    starts.may_end[0].set()
    await settle()
    assert starts.begun == [0, 1, 3]
    for event in starts.may_end:
        event.set()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_starts_that_hang_hold_the_others_up_for_a_while_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(start_slots, "LONGEST_WAIT", 0.01)
    starts = Starts()
    hanging = [asyncio.create_task(starts.one(number)) for number in range(2)]
    await settle()
    starts.may_end[2].set()
    await starts.one(2)
    assert starts.begun == [0, 1, 2]
    for event in starts.may_end:
        event.set()
    await asyncio.gather(*hanging)
    late = [asyncio.create_task(starts.one(number)) for number in range(3)]
    await asyncio.gather(*late)  # the one that did not wait gave no slot back that it did not have


def test_each_event_loop_counts_for_itself() -> None:
    async def three() -> list[int]:
        starts = Starts()
        for event in starts.may_end:
            event.set()
        await asyncio.gather(*(starts.one(number) for number in range(3)))
        return starts.begun

    assert asyncio.run(three()) == asyncio.run(three()) == [0, 1, 2]
