"""What goes to a store: under a steady name, in order, each once, also after the store was away."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.claude.transcripts.beginning import Beginning
from holodeck_backend_claude.claude.transcripts.recording import Recording
from holodeck_backend_claude.claude.transcripts.sqlite import SqliteStore
from holodeck_backend_claude.claude.transcripts.store import StoreError, key_of

SESSION = "11111111-1111-4111-8111-111111111111"
FROM_SDK = key_of("-tmp-some-private-folder-work", SESSION)


def entry(uuid: str, kind: str = "user") -> Any:
    return {"type": kind, "uuid": uuid}


class Away(SqliteStore):
    """A store that can be away; it may have done what it was asked before it went."""

    is_away = False
    does_it_first = False

    async def append(self, key: Any, entries: Any, *, batch: str | None = None) -> None:
        if not self.is_away or self.does_it_first:
            await super().append(key, entries, batch=batch)
        if self.is_away:
            raise StoreError("the store is away")


@pytest.fixture
def store(tmp_path: Path) -> Away:
    return Away(tmp_path / "s.db")


@pytest.fixture
def recording(store: Away) -> Recording:
    return Recording(store, "agent", SESSION)


async def test_the_folder_of_the_process_is_no_part_of_the_name(
    recording: Recording, store: Away
) -> None:
    await recording.append(FROM_SDK, [entry("a")])
    await recording.append({**FROM_SDK, "subpath": "subagents/x"}, [entry("b")])
    assert await store.load(key_of("agent", SESSION)) == [entry("a")]
    assert await store.list_subkeys({"project_key": "agent", "session_id": SESSION}) == [
        "subagents/x"
    ]
    assert await recording.load(FROM_SDK) is None


@pytest.mark.parametrize("does_it_first", [False, True])
async def test_what_was_not_taken_is_kept_told_and_taken_later_in_order_and_once(
    recording: Recording, store: Away, does_it_first: bool
) -> None:
    mode = {"type": "mode"}  # has no uuid: a second one would be kept
    store.does_it_first = does_it_first
    await recording.append(FROM_SDK, [entry("a")])
    store.is_away = True
    await recording.append(FROM_SDK, [entry("b"), mode])  # type: ignore[list-item]
    await recording.append(FROM_SDK, [entry("c")])
    problem = await recording.settle()
    assert problem == "the conversation is not stored to its end: the store is away"
    store.is_away = False
    await recording.append(FROM_SDK, [entry("d")])
    assert await recording.settle() is None
    expected = [entry("a"), entry("b"), mode, entry("c"), entry("d")]
    assert await store.load(key_of("agent", SESSION)) == expected


async def test_what_is_not_stored_at_the_end_is_a_warning(
    recording: Recording, store: Away, caplog: pytest.LogCaptureFixture
) -> None:
    store.is_away = True
    await recording.append(FROM_SDK, [entry("a")])
    with caplog.at_level(logging.WARNING):
        await recording.close()
    assert "not stored to its end: the store is away" in caplog.text


async def test_an_append_that_is_cancelled_is_made_up_for(
    recording: Recording, store: Away
) -> None:
    appending = asyncio.create_task(recording.append(FROM_SDK, [entry("a")]))
    await asyncio.sleep(0)
    appending.cancel()
    await asyncio.wait({appending})
    await recording.append(FROM_SDK, [entry("b")])
    assert await store.load(key_of("agent", SESSION)) == [entry("a"), entry("b")]


class TestAfterACrash:
    def write(self, config: Path, text: str) -> Path:
        path = config / "projects" / "-tmp-x-work" / f"{SESSION}.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text(text)
        return path

    async def test_the_store_gets_what_the_process_did_not_tell_any_more(
        self, recording: Recording, store: Away, tmp_path: Path
    ) -> None:
        told, untold = entry("a"), entry("b", "assistant")
        await recording.append(FROM_SDK, [told])
        lines = '{"type":"user","uuid":"a"}\n{"type":"x"}\n{"type":"assistant","uuid":"b"}\n{"ty'
        path = self.write(tmp_path, lines)
        begun = Beginning(SESSION, recording=recording)
        again = await begun.again(tmp_path)
        assert await store.load(key_of("agent", SESSION)) == [told, untold]
        assert again.options()["resume"] == SESSION
        assert again.options()["session_store"] is recording
        assert path.read_text() == lines.removesuffix('{"ty')

    async def test_a_conversation_in_which_nobody_spoke_begins_once_more(
        self, tmp_path: Path
    ) -> None:
        path = self.write(tmp_path, '{"type":"mode"}\nno json\n')
        begun = Beginning(SESSION)
        assert await begun.again(tmp_path) is begun
        assert begun.options() == {"session_id": SESSION}
        assert not path.exists()
        assert await begun.again(tmp_path) is begun


class TestTheHistoryForTheProcess:
    def test_is_where_it_looks_with_its_subagents_and_nowhere_else(self, tmp_path: Path) -> None:
        config, work = tmp_path / "config", tmp_path / "work"
        work.mkdir()
        about = {"type": "agent_metadata", "agentType": "helper"}
        transcripts: Any = {
            "": [entry("a")],
            "subagents/agent-1": [entry("b"), about],
            "../../out": [entry("c")],
            "/out": [entry("d")],
        }
        begun = Beginning(SESSION, resumes=SESSION, transcripts=transcripts)
        begun.prepare(config, work)
        (project,) = (config / "projects").iterdir()
        found = {
            str(path.relative_to(project)): path.read_text()
            for path in config.rglob("*")
            if path.is_file()
        }
        assert found == {
            f"{SESSION}.jsonl": '{"type": "user", "uuid": "a"}\n',
            f"{SESSION}/subagents/agent-1.jsonl": '{"type": "user", "uuid": "b"}\n',
            f"{SESSION}/subagents/agent-1.meta.json": '{"agentType": "helper"}',
        }

    def test_a_fork_has_an_id_of_its_own(self) -> None:
        begun = Beginning(resumes=SESSION)
        assert begun.session_id != SESSION
        assert begun.options() == {
            "session_id": begun.session_id,
            "resume": SESSION,
            "fork_session": True,
        }
