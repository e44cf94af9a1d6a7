"""A SQLite file that is locked, removed, replaced, another program's, or cannot be written."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from holodeck_backend_claude.claude.transcripts import sqlite_file as module
from holodeck_backend_claude.claude.transcripts.sqlite import SqliteStore
from holodeck_backend_claude.claude.transcripts.store import (
    ConversationGoneError,
    StoreError,
    key_of,
)
from holodeck_backend_claude.concurrency.threads import blocked_threads, running_threads

KEY = key_of("agent", "one")
ENTRY: Any = {"type": "x", "uuid": "u1"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".holodeck" / "sessions.db"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """The file is another one's alone for as long as the block lasts."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()


async def test_nothing_is_left_beside_the_file_once_it_is_closed(path: Path) -> None:
    store = SqliteStore(path)
    assert await store.claim(KEY)
    await store.append(KEY, [ENTRY])
    assert await store.load(KEY) == [ENTRY]
    await store.close()
    assert sorted(each.name for each in path.parent.iterdir()) == [".gitignore", "sessions.db"]


class TestLocked:
    async def test_a_call_that_is_given_up_leaves_no_thread_and_says_nothing(
        self, path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        store = SqliteStore(path)
        await store.append(KEY, [ENTRY])
        with locked(path):
            deleting = asyncio.create_task(store.delete(KEY))
            while not running_threads():
                await asyncio.sleep(0)
            deleting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await deleting
            assert blocked_threads() == 0
        assert caplog.text == ""
        assert await store.load(KEY) == [ENTRY]
        await store.close()

    async def test_closing_ends_what_waits_for_the_file(self, path: Path) -> None:
        store = SqliteStore(path)
        await store.append(KEY, [ENTRY])
        with locked(path):
            deleting = asyncio.create_task(store.delete(KEY))
            while not running_threads():
                await asyncio.sleep(0)
            await store.close()
            with pytest.raises(StoreError, match=r"sessions\.db cannot be used: it was closed"):
                await deleting

    async def test_what_comes_after_the_end_opens_nothing(self, path: Path) -> None:
        store = SqliteStore(path)
        await store.close()
        with pytest.raises(StoreError, match="it was closed"):
            await store.load(KEY)
        assert not path.exists()

    async def test_a_file_that_stays_locked_is_given_up_in_bounded_time(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "OPERATION_SECONDS", 0.1)
        store = SqliteStore(path)
        await store.append(KEY, [ENTRY])
        with locked(path), pytest.raises(StoreError, match="database is locked"):
            await store.delete(KEY)
        await store.delete(KEY)
        await store.close()


def remove_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


def remove_file(path: Path) -> None:
    path.unlink()


def replace(path: Path) -> None:
    new = path.with_name("new.db")
    new.touch()
    new.replace(path)


@pytest.mark.parametrize("remove", [remove_folder, remove_file, replace])
class TestRemoved:
    async def test_what_is_said_later_is_in_the_file_that_others_open(
        self, path: Path, remove: Callable[[Path], None]
    ) -> None:
        store, other = SqliteStore(path), SqliteStore(path)
        await store.append(KEY, [ENTRY])
        remove(path)
        with pytest.raises(ConversationGoneError, match="the conversation was removed"):
            await store.append(KEY, [ENTRY], goes_on=True)
        await store.append(KEY, [ENTRY])
        assert await other.load(KEY) == [ENTRY]
        await asyncio.gather(store.close(), other.close())

    async def test_the_claim_is_one_for_others_too(
        self, path: Path, remove: Callable[[Path], None]
    ) -> None:
        store, other = SqliteStore(path), SqliteStore(path)
        assert await store.claim(KEY)
        await store.append(KEY, [ENTRY])
        remove(path)
        await store.append(KEY, [ENTRY])
        assert not await other.claim(KEY)
        await store.close()
        assert await other.claim(KEY)
        await other.close()


async def test_a_file_that_was_cut_off_is_written_once_more(path: Path) -> None:
    store, other = SqliteStore(path), SqliteStore(path)
    await store.append(KEY, [ENTRY])
    os.truncate(path, 0)
    await store.append(KEY, [{"type": "mode"}])
    assert await other.load(KEY) == [ENTRY, {"type": "mode"}]
    await asyncio.gather(store.close(), other.close())


async def test_a_claim_that_another_took_while_its_file_was_gone_is_told_and_left_to_it(
    path: Path,
) -> None:
    store, other, third = SqliteStore(path), SqliteStore(path), SqliteStore(path)
    assert await store.claim(KEY)
    remove_folder(path.with_name("sessions.db-in-use") / "x")
    assert await other.claim(KEY)
    with pytest.raises(StoreError, match="in-use was removed, and meanwhile another program took"):
        await store.append(KEY, [ENTRY])
    await store.close()
    assert not await third.claim(KEY)
    await asyncio.gather(other.close(), third.close())


async def test_folders_that_are_made_again_are_for_their_owner_alone(path: Path) -> None:
    store = SqliteStore(path)
    mask = os.umask(0)
    try:
        assert await store.claim(KEY)
        remove_folder(path)
        await store.append(KEY, [ENTRY])
    finally:
        os.umask(mask)
    assert path.parent.stat().st_mode & 0o777 == 0o700
    await store.close()


FOREIGN = {
    "tables": "CREATE TABLE sessions (id, data)",
    "a version below zero": "PRAGMA user_version = -3",
    "our version": "PRAGMA user_version = 1",
    "a later version": "PRAGMA user_version = 7; CREATE TABLE x (y)",
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
async def test_the_database_of_another_program_is_left_as_it_is(
    tmp_path: Path, content: str
) -> None:
    path = tmp_path / "s.db"
    connection = sqlite3.connect(path)
    connection.executescript(content)
    connection.close()
    before = path.read_bytes()
    store = SqliteStore(path)
    with pytest.raises(StoreError, match=r"is no session store .* in claude\.sessions\.path"):
        await store.append(KEY, [ENTRY])
    await store.close()
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["s.db"]


async def test_a_file_in_the_place_of_the_claims_is_named(path: Path) -> None:
    path.parent.mkdir()
    path.with_name("sessions.db-in-use").touch()
    with pytest.raises(StoreError, match=r"in the folder .*/sessions\.db-in-use, which cannot be"):
        await SqliteStore(path).claim(KEY)


async def test_a_folder_in_the_place_of_the_file_is_named(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(StoreError, match="unable to open database file: it is a folder"):
        await SqliteStore(path).load(KEY)


AS_NOBODY = """\
import asyncio, os, sys
from pathlib import Path
from holodeck_backend_claude.claude.transcripts.sqlite import SqliteStore
from holodeck_backend_claude.claude.transcripts.store import StoreError
if os.geteuid() == 0:
    os.setgid(65534); os.setuid(65534)
try:
    asyncio.run(SqliteStore(Path(sys.argv[1])).overview("agent"))
except StoreError as error:
    print(error)
"""


async def test_a_folder_that_cannot_be_written_is_named() -> None:
    with TemporaryDirectory(dir="/tmp") as folder:
        path = Path(folder) / "s.db"
        store = SqliteStore(path)
        await store.append(KEY, [ENTRY])
        await store.close()
        path.chmod(0o444)
        path.parent.chmod(0o555)
        told = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, str(path)], capture_output=True, text=True, check=True
        ).stdout
        path.parent.chmod(0o755)
    assert f"this user may not make files in the folder {folder}" in told
