"""Both stores of transcripts: the SDK's conformance suite, and what we ask beside it."""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import os
import signal
import sqlite3
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk.testing import run_session_store_conformance

from holodeck_backend_claude.claude.transcripts.postgres import PostgresStore
from holodeck_backend_claude.claude.transcripts.sqlite import SqliteStore
from holodeck_backend_claude.claude.transcripts.store import (
    ConversationGoneError,
    StoreError,
    TranscriptStore,
    key_of,
)
from tests.support.postgres import PostgresServer

Open = Callable[[], TranscriptStore]
KEY = key_of("agent", "one")


@pytest.fixture(params=["sqlite", "postgres"])
async def new_place(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[Callable[[], Open]]:
    """``new_place()`` is an empty place; ``open = new_place(); open()`` a store over it."""
    opened: list[TranscriptStore] = []
    numbers = itertools.count()

    def place() -> Open:
        if request.param == "sqlite":
            path = tmp_path / str(next(numbers)) / "sessions.db"
            make: Open = lambda: SqliteStore(path)  # noqa: E731
        else:
            url = request.getfixturevalue("postgres").new_schema()
            make = lambda: PostgresStore(url)  # noqa: E731

        def opening() -> TranscriptStore:
            opened.append(make())
            return opened[-1]

        return opening

    yield place
    for store in opened:
        await store.close()


@pytest.fixture
def open_store(new_place: Callable[[], Open]) -> Open:
    """Opens one more store object over the same place."""
    return new_place()


def entry(number: int, **fields: Any) -> Any:
    return {"type": "x", "uuid": f"u{number}", "n": number, **fields}


async def test_the_sdks_conformance_suite(new_place: Callable[[], Open]) -> None:
    def make() -> Any:
        return new_place()()

    await run_session_store_conformance(make)


async def test_what_one_program_appends_another_loads(open_store: Open) -> None:
    await open_store().append(KEY, [entry(1), entry(2)])
    assert await open_store().load(KEY) == [entry(1), entry(2)]


@pytest.mark.parametrize("text", ["\0", "\ud800", "é漢😀", "x" * 2_000_000, "'); DROP TABLE"])
async def test_any_text_comes_back_as_it_was(open_store: Open, text: str) -> None:
    said = entry(1, type="user", message={"role": "user", "content": text})
    store = open_store()
    await store.append(key_of("agent 'x' 漢", "one"), [said])
    assert await store.load(key_of("agent 'x' 漢", "one")) == [said]
    assert len(await store.overview("agent 'x' 漢")) == 1


async def test_an_entry_that_comes_again_is_kept_once_and_one_without_uuid_each_time(
    open_store: Open,
) -> None:
    store = open_store()
    await store.append(KEY, [entry(1), {"type": "mode"}])
    await store.append(KEY, [entry(1), entry(2), {"type": "mode"}])
    assert await store.load(KEY) == [entry(1), {"type": "mode"}, entry(2), {"type": "mode"}]


async def test_the_same_batch_again_changes_nothing(open_store: Open) -> None:
    store = open_store()
    await store.append(KEY, [{"type": "mode"}], batch="b1")
    await store.append(KEY, [{"type": "mode"}], batch="b1")
    assert await store.load(KEY) == [{"type": "mode"}]
    await store.append(KEY, [{"type": "mode"}], batch="b2")
    assert await store.load(KEY) == [{"type": "mode"}] * 2


async def test_a_conversation_that_was_removed_does_not_go_on_as_if_it_were_there(
    open_store: Open,
) -> None:
    store = open_store()
    with pytest.raises(ConversationGoneError):
        await store.append(KEY, [entry(1)], goes_on=True)
    await store.append(KEY, [entry(1)])
    await store.append(KEY, [entry(2)], goes_on=True)
    await store.delete(KEY)
    with pytest.raises(ConversationGoneError, match="cannot be used: the conversation was removed"):
        await store.append(KEY, [entry(3)], goes_on=True)
    assert await store.load(KEY) is None


async def test_the_overview_has_the_last_used_first_with_what_was_said_first(
    open_store: Open,
) -> None:
    store = open_store()
    user = entry(1, type="user", message={"content": "What\nis it? " + "x" * 100})
    await store.append(key_of("agent", "old"), [entry(1)])
    await store.append(key_of("agent", "old"), [entry(2, type="user", isMeta=True)])
    await store.append(
        {"project_key": "agent", "session_id": "old", "subpath": "subagents/a"}, [entry(3)]
    )
    await store.append(key_of("agent", "new"), [user])
    await store.append(key_of("another agent", "else"), [entry(1)])
    new, old = await store.overview("agent")
    assert (new.session_id, old.session_id) == ("new", "old")
    assert new.title.startswith("What is it? xxx")
    assert len(new.title) == 80
    assert old.title == ""
    assert old.started <= old.last_used <= new.started
    blocks = {"content": [{"type": "image"}, {"type": "text", "text": "later said"}]}
    await store.append(key_of("agent", "old"), [entry(4, type="user", message=blocks)])
    assert (await store.overview("agent"))[0].title == "later said"


async def test_a_conversation_is_claimed_by_one_store_object_at_a_time(open_store: Open) -> None:
    first, second = open_store(), open_store()
    assert await first.claim(KEY)
    assert await first.claim(KEY)
    assert not await second.claim(KEY)
    assert await second.claim(key_of("agent", "two"))
    assert await second.claim(key_of("other", "one"))
    await first.release(KEY)
    assert await second.claim(KEY)
    await second.close()
    assert await first.claim(KEY)


def claim_and_wait(store_type: type[Any], where: Any, ready: Any) -> None:
    async def hold() -> None:
        store = store_type(where)
        await store.append(KEY, [entry(1)])
        assert await store.claim(KEY)
        ready.set()
        await asyncio.Event().wait()

    asyncio.run(hold())


async def test_the_claim_of_a_killed_program_ends_with_it(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    spawn = multiprocessing.get_context("spawn")
    url = postgres.new_schema()
    places: list[tuple[type[Any], Any]] = [
        (SqliteStore, tmp_path / "s.db"),
        (PostgresStore, url),
    ]
    for store_type, where in places:
        ready = spawn.Event()
        other = spawn.Process(target=claim_and_wait, args=(store_type, where, ready))
        other.start()
        assert await asyncio.to_thread(ready.wait, 30)
        store = store_type(where)
        assert not await store.claim(KEY)
        other.kill()
        other.join()
        while not await store.claim(KEY):  # the server has to notice first
            await asyncio.sleep(0.01)
        assert await store.load(KEY) == [entry(1)]
        await store.close()


def append_many(path: Path, name: str, go: Any) -> None:
    async def append() -> None:
        store = SqliteStore(path)
        for number in range(20):
            await store.append(key_of("agent", name), [entry(number)])
        await store.close()

    go.wait()
    asyncio.run(append())


def test_four_programs_make_and_fill_one_sqlite_file_at_once(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    path, go = tmp_path / ".holodeck" / "sessions.db", spawn.Event()
    workers = [spawn.Process(target=append_many, args=(path, str(n), go)) for n in range(4)]
    for worker in workers:
        worker.start()
    go.set()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4

    async def counts() -> list[int]:
        store = SqliteStore(path)
        found = [await store.load(key_of("agent", str(n))) for n in range(4)]
        await store.close()
        return [len(each or []) for each in found]

    assert asyncio.run(counts()) == [20] * 4


async def test_the_first_stores_of_a_database_make_its_tables_once(
    postgres: PostgresServer,
) -> None:
    url = postgres.new_schema()
    stores = [PostgresStore(url) for _ in range(6)]
    await asyncio.gather(*(s.append(key_of("a", str(n)), [entry(n)]) for n, s in enumerate(stores)))
    assert len(await stores[0].overview("a")) == 6
    await asyncio.gather(*(store.close() for store in stores))


async def test_the_sqlite_file_is_for_its_owner_alone_and_out_of_version_control(
    tmp_path: Path,
) -> None:
    path = tmp_path / ".holodeck" / "sessions.db"
    mask = os.umask(0)
    try:
        store = SqliteStore(path)
        await store.append(KEY, [entry(1)])
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()}
        await store.close()
    finally:
        os.umask(mask)
    assert {modes[n] for n in modes if n.startswith("sessions.db")} == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert (path.parent / ".gitignore").read_text() == "*\n"


async def test_nothing_of_a_deleted_conversation_is_left_in_the_sqlite_file(
    tmp_path: Path,
) -> None:
    store = SqliteStore(tmp_path / "s.db")
    await store.append(KEY, [entry(n, text="CANARY" * 50) for n in range(50)])
    await store.delete(KEY)
    assert not any(b"CANARY" in path.read_bytes() for path in tmp_path.glob("s.db*"))
    await store.close()


async def test_a_sqlite_file_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.write_text("no database at all, but long enough to be taken for one" * 20)
    with pytest.raises(StoreError, match=r"s\.db cannot be used: file is not a database"):
        await SqliteStore(path).load(KEY)
    with pytest.raises(StoreError, match="cannot be used: "):
        await SqliteStore(tmp_path / "s.db" / "below" / "x.db").load(KEY)


async def test_tables_of_a_newer_version_are_left_alone(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    import psycopg

    store = SqliteStore(tmp_path / "s.db")
    await store.append(KEY, [entry(1)])
    await store.close()
    with sqlite3.connect(tmp_path / "s.db") as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(StoreError, match="newer version of holodeck-backend-claude"):
        await SqliteStore(tmp_path / "s.db").load(KEY)
    url = postgres.new_schema()
    other = PostgresStore(url)
    await other.append(KEY, [entry(1)])
    await other.close()
    with psycopg.connect(url) as database:
        database.execute("UPDATE holodeck_session_schema SET version = 2")
    with pytest.raises(StoreError, match="its tables are of version 2"):
        await PostgresStore(url).load(KEY)


async def test_a_lost_connection_is_made_again_and_the_claim_with_it(
    postgres: PostgresServer,
) -> None:
    url = postgres.new_schema()
    store, other = PostgresStore(url), PostgresStore(url)
    assert await store.claim(KEY)
    await store.append(KEY, [entry(1)])
    postgres.end_connections()
    await store.append(KEY, [entry(2)])
    assert await store.load(KEY) == [entry(1), entry(2)]
    assert not await other.claim(KEY)
    await asyncio.gather(store.close(), other.close())


async def test_a_conversation_that_another_took_while_the_connection_was_lost_is_refused(
    postgres: PostgresServer,
) -> None:
    url = postgres.new_schema()
    store, other = PostgresStore(url), PostgresStore(url)
    assert await store.claim(KEY)
    postgres.end_connections()
    assert await other.claim(KEY)
    with pytest.raises(StoreError, match="another program took the conversation"):
        await store.append(KEY, [entry(2)])
    await other.append(KEY, [entry(3)])
    assert await other.load(KEY) == [entry(3)]
    await asyncio.gather(store.close(), other.close())


async def test_a_server_that_hangs_is_given_up_and_what_it_did_is_not_done_twice(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holodeck_backend_claude.claude.transcripts import postgres_connection as module

    store = PostgresStore(postgres.new_schema())
    await store.append(KEY, [entry(1)])
    assert store._database._connection is not None
    server_side = store._database._connection.info.backend_pid
    os.kill(server_side, signal.SIGSTOP)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(module, "OPERATION_SECONDS", 0.2)
            with pytest.raises(StoreError, match=r"no answer within 0\.2 s"):
                await store.append(KEY, [{"type": "mode"}], batch="b1")
    finally:
        os.kill(server_side, signal.SIGCONT)
    await store.append(KEY, [{"type": "mode"}], batch="b1")
    assert await store.load(KEY) == [entry(1), {"type": "mode"}]
    await store.close()


async def test_a_server_that_is_down_is_named_without_the_password(
    postgres: PostgresServer,
) -> None:
    url = postgres.url.replace(f":{postgres.port}/", ":1/")
    with pytest.raises(StoreError, match=r"database 'postgres' on 127\.0\.0\.1:1 cannot") as error:
        await PostgresStore(url).load(KEY)
    assert postgres.password not in str(error.value)
    wrong = postgres.url.replace(postgres.password, "not-the-password-1")
    with pytest.raises(StoreError, match="password authentication failed") as error:
        await PostgresStore(wrong).load(KEY)
    assert "not-the-password-1" not in str(error.value)
    with pytest.raises(StoreError, match="no address of a PostgreSQL database") as error:
        PostgresStore("not-the-password-1")
    assert "not-the-password-1" not in str(error.value)


async def test_a_missing_psycopg_is_an_error_that_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"pip install 'holodeck-backend-claude\[postgres\]'"):
        PostgresStore("postgresql://127.0.0.1/x")
