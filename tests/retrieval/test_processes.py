"""Several processes on one index, and processes that are killed while they write it."""

from __future__ import annotations

import asyncio
import signal

import pytest

from .lab import Lab
from .worker import Embedder
from .workers import Start, assert_sound, let_go, wait_for


def contents(lab: Lab) -> set[object]:
    return {row[0] for row in lab.rows("SELECT content FROM chunks")}


def write_version(lab: Lab, version: str, count: int = 400) -> set[object]:
    texts = {f"{number:04}.txt": f"Version {version} of text {number}." for number in range(count)}
    for name, text in texts.items():
        lab.write(name, text)
    return set(texts.values())


@pytest.mark.parametrize("moment", ["reading 1 ", "reading 150 ", "reading 400 ", "embedded"])
async def test_a_killed_process_leaves_the_old_or_the_new_state(
    moment: str, lab: Lab, start: Start
) -> None:
    embedder = Embedder()
    old = write_version(lab, "one")
    await lab.update(embedder)
    lab.database.close()
    new = write_version(lab, "two")

    process = start(2)
    wait_for(process, moment)
    process.send_signal(signal.SIGKILL)
    process.wait()

    lab.database.open()
    assert contents(lab) in (old, new)
    assert_sound(lab)
    report = await lab.update(embedder)
    assert contents(lab) == new
    assert (report.chunks, report.embedded) == (400, 400)
    assert_sound(lab)


async def test_what_was_embedded_before_the_kill_is_not_embedded_again(
    lab: Lab, start: Start
) -> None:
    write_version(lab, "one")
    process = start(4)
    wait_for(process, "embedding 64 ")
    process.kill()
    process.wait()

    lab.database.open()
    ((kept,),) = lab.rows("SELECT count(*) FROM vectors")
    assert isinstance(kept, int)
    assert 64 <= kept < 400
    embedded: list[str] = []
    embedder = Embedder()
    real = embedder.embed_documents

    async def counting(texts: list[str]) -> object:
        embedded.extend(texts)
        return await real(texts)

    embedder.embed_documents = counting  # type: ignore[method-assign,assignment]
    assert (await lab.update(embedder)).embedded == 400
    assert len(embedded) == 400 - kept


async def test_an_index_that_was_killed_while_new_is_completed(lab: Lab, start: Start) -> None:
    new = write_version(lab, "one")
    process = start()
    wait_for(process, "reading 200 ")
    process.kill()
    process.wait()
    assert (await lab.update(Embedder())).embedded == 400
    assert contents(lab) == new


async def test_two_processes_on_one_folder_end_in_one_right_state(lab: Lab, start: Start) -> None:
    new = write_version(lab, "one")
    processes = [start(), start()]
    for process in processes:
        wait_for(process, "done")
        assert process.wait() == 0
    lab.database.open()
    assert contents(lab) == new
    assert lab.rows("SELECT count(*) FROM chunks") == [(400,)]
    assert lab.rows("SELECT count(*) FROM vectors") == [(400,)]
    assert_sound(lab)


async def test_the_second_process_waits_and_pays_for_nothing(lab: Lab, start: Start) -> None:
    write_version(lab, "one")
    first = start(0)
    wait_for(first, "reading 400 ")
    second = start(0)
    wait_for(second, "waiting for another run")
    let_go(first)
    wait_for(first, "done")
    assert second.stdout is not None
    told = second.stdout.read().splitlines()
    assert not [line for line in told if line.startswith("embedded")]
    assert told[-1] == "done"


async def test_two_runs_in_one_process_follow_each_other(lab: Lab) -> None:
    write_version(lab, "one", 50)
    embedder = Embedder()
    reports = await asyncio.gather(lab.update(embedder), lab.update(embedder))
    assert sorted(report.changed for report in reports) == [0, 50]
    assert {report.embedded for report in reports} == {50}


async def test_a_run_that_waits_can_be_cancelled(lab: Lab, start: Start) -> None:
    write_version(lab, "one", 10)
    process = start(0)
    wait_for(process, "reading 10 ")
    run = asyncio.create_task(lab.update(Embedder()))
    while not lab.progress:
        await asyncio.sleep(0)
    assert lab.progress[0][0] == "waiting for another run"
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    let_go(process)
    wait_for(process, "done")
    assert (await lab.update(Embedder())).embedded == 10


async def test_a_search_sees_what_another_process_changed(lab: Lab, start: Start) -> None:
    embedder = Embedder()
    lab.write("a.txt", "The first text.")
    await lab.update(embedder)
    assert await lab.sources("another", embedder) == ["a.txt"]
    lab.write("b.txt", "Another text.")
    (lab.docs / "a.txt").unlink()
    process = start()
    wait_for(process, "done")
    assert await lab.sources("another", embedder) == ["b.txt"]


async def test_a_search_works_while_another_process_indexes(lab: Lab, start: Start) -> None:
    embedder = Embedder()
    old = write_version(lab, "one")
    await lab.update(embedder)
    new = write_version(lab, "two")
    process = start(0)
    wait_for(process, "reading 200 ")
    found = {result.content for result in await lab.search("version text", embedder)}
    assert found <= old or found <= new  # before or after the change, never between
    wait_for(process, "reading 400 ")
    while contents(lab) != new:
        await asyncio.sleep(0)
    results = await lab.search("version two text", embedder)
    assert {result.content for result in results} <= new
    let_go(process)
    wait_for(process, "done")
