"""Stores that are locked, frozen or removed in a conversation: the answer comes all the same."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.claude.transcripts import postgres_connection, recording, sqlite_file
from holodeck_backend_claude.claude.transcripts.postgres import PostgresStore
from holodeck_backend_claude.claude.transcripts.sqlite import SqliteStore
from holodeck_backend_claude.testing import Answer, ModelRequest, call_tool, forever, say
from tests.support.probes import Probe, probe_schema

from .lab import Lab

SQLITE = {"sessions": {"store": "sqlite"}}


@contextmanager
def locked(path: Path) -> Iterator[None]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        connection.close()


@pytest.fixture(params=["sqlite", "postgres"])
def place(
    request: pytest.FixtureRequest, lab: Lab
) -> tuple[dict[str, Any], Callable[[], AbstractContextManager[None]]]:
    """The ``claude:`` block, and what keeps its store from answering."""
    if request.param == "sqlite":
        return SQLITE, lambda: locked(lab.folder / ".holodeck" / "sessions.db")
    postgres = request.getfixturevalue("postgres")
    url = postgres.new_schema()
    return {"sessions": {"store": "postgres", "url": url}}, postgres.frozen


async def test_a_store_that_answers_nothing_costs_a_warning_and_no_answer(
    lab: Lab,
    place: tuple[dict[str, Any], Callable[[], AbstractContextManager[None]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def answer(request: ModelRequest) -> Answer:
        calls = sum(json.dumps(request.body["messages"]).count(f"finding {n}") for n in range(9))
        return say("The answer.") if calls >= 4 else call_tool("kb", {"query": str(calls)})

    settings, hanging = place
    tries: list[str] = []
    for store_type in (SqliteStore, PostgresStore):
        monkeypatch.setattr(store_type, "append", _counted(store_type.append, tries))
    findings = iter(range(9))
    probe = Probe("kb", lambda _: f"finding {next(findings)}", probe_schema())
    backend = await lab.backend(await lab.api(answer), probe, settings=settings)
    session = await backend.create_session()
    with monkeypatch.context() as patched:
        for module in (sqlite_file, postgres_connection):
            patched.setattr(module, "OPERATION_SECONDS", 0.5)
        patched.setattr(recording, "SETTLE_SECONDS", 2.0)
        with hanging():
            result = await session.send("Look it up four times")
    assert result.response == "The answer."
    (warning,) = result.warnings
    assert "not stored to its end" in warning
    assert len(tries) <= 2  # while the turn ran, and once more at its end
    assert (await session.send("And now?")).warnings == []
    await session.close()
    api = await lab.api(forever(say("ok")))
    later = await lab.backend(api, settings=settings)
    await (await later.create_session(resume=session.session_id)).send("Later")
    for said in ("Look it up", "finding 3", "The answer.", "And now?"):
        assert said in json.dumps(api.requests[-1].body["messages"])


def _counted(append: Callable[..., Any], tries: list[str]) -> Callable[..., Any]:
    async def counted(*arguments: Any, **how: Any) -> None:
        tries.append(how["batch"])
        await append(*arguments, **how)

    return counted


def remove_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


def replace(path: Path) -> None:
    new = path.with_name("new.db")
    new.touch()
    new.replace(path)


@pytest.mark.parametrize("remove", [remove_folder, replace])
async def test_a_store_that_is_removed_gets_the_conversation_again_from_its_first_word(
    lab: Lab, remove: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    api = await lab.api(forever(say("ok")))
    backend = await lab.backend(api, settings=SQLITE)
    session = await backend.create_session()
    await session.send("The first word")
    remove(lab.folder / ".holodeck" / "sessions.db")
    assert (await session.send("The second word")).warnings == []
    assert "is stored there again" in caplog.text
    await session.close()
    await (await backend.create_session(resume=session.session_id)).send("The third")
    told = json.dumps(api.requests[-1].body["messages"])
    assert told.count("The first word") == told.count("The second word") == 1
