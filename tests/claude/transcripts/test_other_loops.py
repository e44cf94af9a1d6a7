"""A recording that is closed where its event loop runs no longer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from holodeck_backend_claude.claude.transcripts.postgres import PostgresStore
from holodeck_backend_claude.claude.transcripts.recording import Recording
from holodeck_backend_claude.claude.transcripts.sqlite import SqliteStore
from holodeck_backend_claude.claude.transcripts.store import TranscriptStore, key_of
from holodeck_backend_claude.concurrency import in_thread, keep

SESSION = "11111111-1111-4111-8111-111111111111"
KEY = key_of("agent", SESSION)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.parametrize("steps", [0, 1, 4])
@pytest.mark.parametrize("closed", [False, True])
async def test_what_was_not_stored_yet_is_stored_and_the_claim_given_up(
    kind: str, steps: int, closed: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres").new_schema() if kind == "postgres" else ""

    def open_store() -> TranscriptStore:
        return PostgresStore(url) if url else SqliteStore(tmp_path / "sessions.db")

    store = open_store()
    recording = Recording(store, "agent", SESSION)

    async def begin() -> None:
        assert await store.claim(KEY)
        await recording.append(KEY, [{"type": "user", "uuid": "a"}])
        for _ in range(steps):
            await asyncio.sleep(0)

    loop = asyncio.new_event_loop()
    await in_thread(loop.run_until_complete, begin())
    for task in asyncio.all_tasks(loop):
        keep(task)  # in the middle of it
    if closed:
        loop.close()
    await recording.close()
    other = open_store()
    assert await other.claim(KEY)
    assert await other.load(KEY) == [{"type": "user", "uuid": "a"}]
    await other.close()
    loop.close()
