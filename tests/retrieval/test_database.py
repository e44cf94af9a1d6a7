"""The file of an index: permissions, damage, foreign files, versions, transactions."""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.retrieval import RetrievalError
from holodeck_backend_claude.retrieval.indexing import schema
from holodeck_backend_claude.retrieval.indexing.schema import DamagedIndexError

from .lab import Lab, WordEmbedder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_folder_and_files_are_for_the_owner_alone(lab: Lab) -> None:
    lab.database.path = lab.base / ".holodeck" / "tools" / "kb" / "index.db"
    lab.write("a.md", "Text.")
    await lab.update()
    with lab.database.writing():
        names = {path.name: mode(path) for path in lab.database.path.parent.iterdir()}
    assert names.pop(".gitignore")
    assert names.keys() == {"index.db", "index.db-wal", "index.db-shm", "index.lock"}
    assert set(names.values()) == {0o600}
    for folder in (".holodeck", ".holodeck/tools", ".holodeck/tools/kb"):
        assert mode(lab.base / folder) == 0o700


async def test_permissions_that_are_too_wide_are_narrowed(lab: Lab) -> None:
    lab.write("a.md", "Text.")
    await lab.update()
    lab.database.path.chmod(0o644)
    lab.database.path.parent.chmod(0o755)
    await lab.update()
    assert (mode(lab.database.path), mode(lab.database.path.parent)) == (0o600, 0o700)


async def test_the_index_is_kept_out_of_version_control(lab: Lab) -> None:
    lab.write("a.md", "Text.")
    await lab.update()
    assert (lab.database.path.parent / ".gitignore").read_text() == "*\n"


def garbage(path: Path) -> None:
    path.write_bytes(os.urandom(50_000))


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def foreign(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE bills (amount)")
    db.close()


def overwritten_inside(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4_096:] = b"\xa5" * (len(data) - 4_096)
    path.write_bytes(data)


def old_format(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 0")
    db.close()


def without_a_table(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE vectors")
    db.close()


@pytest.mark.parametrize(
    "damage", [garbage, cut_short, foreign, overwritten_inside, old_format, without_a_table]
)
async def test_a_file_that_is_no_good_index_is_set_aside_and_built_anew_with_a_warning(
    damage: Callable[[Path], None],
    lab: Lab,
    embedder: WordEmbedder,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for number in range(30):
        lab.write(f"{number}.md", f"# Refunds {number}\n\nWithin {number} days.")
    await lab.update(embedder)
    lab.database.close()
    damage(lab.database.path)
    with caplog.at_level(logging.WARNING):
        report = await lab.update(embedder)
    assert (report.files, report.embedded) == (30, 30)
    assert len(await lab.sources("refunds", embedder)) == 10
    assert "is built anew" in caplog.text
    assert "index.db.damaged" in caplog.text
    assert lab.database.path.with_name("index.db.damaged").exists()


async def test_a_foreign_database_is_kept_whole(lab: Lab) -> None:
    lab.write("a.md", "Text.")
    lab.database.make_folder()
    foreign_file = lab.database.path
    with sqlite3.connect(foreign_file) as db:
        db.execute("CREATE TABLE bills (amount)")
        db.execute("INSERT INTO bills VALUES (42)")
    db.close()
    await lab.update()
    db = sqlite3.connect(lab.database.path.with_name("index.db.damaged"))
    assert db.execute("SELECT amount FROM bills").fetchall() == [(42,)]
    db.close()


async def test_an_empty_file_becomes_an_index(lab: Lab) -> None:
    lab.write("a.md", "Text.")
    lab.database.make_folder()
    lab.database.path.touch()
    assert (await lab.update()).files == 1


async def test_an_index_of_a_newer_version_is_an_error_and_stays_as_it_is(lab: Lab) -> None:
    lab.write("a.md", "Text.")
    await lab.update()
    with sqlite3.connect(lab.database.path) as db:
        db.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
    db.close()
    with pytest.raises(RetrievalError, match="newer version") as failure:
        await lab.update()
    assert not isinstance(failure.value, DamagedIndexError)
    assert "upgrade, or delete the file" in str(failure.value)
    assert lab.database.path.exists()


async def test_a_cache_folder_that_cannot_be_made_is_an_error(lab: Lab) -> None:
    lab.write("a.md", "Text.")
    lab.database.path.parent.write_text("a file in the way")
    with pytest.raises(RetrievalError, match="cannot write the index folder"):
        await lab.update()


async def test_a_folder_in_place_of_the_file_is_an_error(lab: Lab) -> None:
    lab.write("a.md", "Text.")
    lab.database.path.mkdir(parents=True)
    with pytest.raises(RetrievalError, match="cannot write the index"):
        await lab.update()


def test_sqlite_without_fts5_is_an_error_that_says_so() -> None:
    class WithoutFts5(sqlite3.Connection):
        def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
            if "fts5" in sql:
                raise sqlite3.OperationalError("no such module: fts5")
            return super().execute(sql, parameters)

    connection = sqlite3.connect(":memory:", factory=WithoutFts5, isolation_level=None)
    with pytest.raises(RetrievalError, match="built without FTS5"):
        schema.prepare(connection, Path("index.db"))
    connection.close()


async def test_a_change_that_fails_leaves_no_trace(lab: Lab) -> None:
    lab.write("a.md", "Text.")
    await lab.update()

    def delete_and_fail() -> None:
        with lab.database.writing() as db:
            db.execute("DELETE FROM chunks")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        delete_and_fail()
    assert lab.rows("SELECT count(*) FROM chunks") == [(1,)]


async def test_a_reader_sees_one_state_while_another_thread_writes(lab: Lab) -> None:
    lab.write("a.md", "Text.")
    await lab.update()

    def write() -> None:
        with lab.database.writing() as db:
            db.execute("DELETE FROM chunks")

    with lab.database.reading() as db:
        before = db.execute("SELECT count(*) FROM chunks").fetchone()
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        assert db.execute("SELECT count(*) FROM chunks").fetchone() == before == (1,)
    assert lab.rows("SELECT count(*) FROM chunks") == [(0,)]


async def test_a_closed_index_says_so(lab: Lab) -> None:
    lab.write("a.md", "Text.")
    await lab.update()
    lab.database.close()
    with pytest.raises(RetrievalError, match="is closed"):
        await lab.search("text")
