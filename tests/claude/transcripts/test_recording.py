"""What goes to a store: under a steady name, in order, each once, also after the store was away."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.claude.transcripts import recording as module
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
    tries = 0

    async def append(self, key: Any, entries: Any, **how: Any) -> None:
        self.tries += 1
        if not self.is_away or self.does_it_first:
            await super().append(key, entries, **how)
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
    assert await recording.settle() is None
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
    assert await recording.settle() is None
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
    assert await recording.settle() is None
    assert await store.load(key_of("agent", SESSION)) == [entry("a"), entry("b")]


class Hanging(SqliteStore):
    """A store that answers nothing until it is let go."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.let_go = asyncio.Event()
        self.tries = 0

    async def append(self, key: Any, entries: Any, **how: Any) -> None:
        self.tries += 1
        await self.let_go.wait()
        await super().append(key, entries, **how)


async def test_a_store_that_hangs_delays_no_turn_but_its_end_and_that_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Hanging(tmp_path / "s.db")
    recording = Recording(store, "agent", SESSION)
    for number in range(20):  # the SDK hands on no result before each of these has returned
        await recording.append(FROM_SDK, [entry(str(number))])
    with monkeypatch.context() as patched:
        patched.setattr(module, "SETTLE_SECONDS", 0.1)
        assert str(await recording.settle()).endswith("s.db has not taken it within 0.1 s")
    assert store.tries == 1
    store.let_go.set()
    assert await recording.settle() is None
    assert len(await store.load(key_of("agent", SESSION)) or []) == 20
    await recording.close()


async def test_a_store_that_hangs_at_the_end_is_closed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "SETTLE_SECONDS", 0.1)
    recording = Recording(Hanging(tmp_path / "s.db"), "agent", SESSION)
    await recording.append(FROM_SDK, [entry("a")])
    await recording.close()
    assert "not stored to its end" in caplog.text
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_store_that_failed_is_asked_again_at_the_end_of_the_turn(
    recording: Recording, store: Away
) -> None:
    store.is_away = True
    for number in range(20):
        await recording.append(FROM_SDK, [entry(str(number))])
        await asyncio.sleep(0)
    while recording._handing_over is None or not recording._handing_over.done():
        await asyncio.sleep(0)
    tried = store.tries
    await recording.append(FROM_SDK, [entry("last")])
    await recording.settle()
    assert (tried, store.tries) == (1, 2)


class TestAConversationThatWasRemovedFromTheStore:
    def write(self, config: Path) -> None:
        project = config / "projects" / "-tmp-x-work"
        subagents = project / SESSION / "subagents"
        subagents.mkdir(parents=True)
        (project / f"{SESSION}.jsonl").write_text(
            "".join(f"{json.dumps(each)}\n" for each in (entry("a"), {"type": "mode"}, entry("b")))
        )
        (subagents / "agent-1.jsonl").write_text('{"type":"user","uuid":"s"}\n')
        (subagents / "agent-1.meta.json").write_text('{"agentType":"finder"}')

    async def test_is_stored_there_again_from_its_first_word(
        self, recording: Recording, store: Away, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        self.write(tmp_path)
        Beginning(SESSION, recording=recording).prepare(tmp_path, tmp_path)
        await recording.append(FROM_SDK, [entry("a"), {"type": "mode"}])
        assert await recording.settle() is None
        await store.delete(key_of("agent", SESSION))
        await recording.append(FROM_SDK, [entry("b"), entry("c")])  # c is not in the file yet
        assert await recording.settle() is None
        key = key_of("agent", SESSION)
        assert await store.load(key) == [entry("a"), {"type": "mode"}, entry("b"), entry("c")]
        of_subagent = await store.load({**key, "subpath": "subagents/agent-1"})
        about = {"type": "agent_metadata", "agentType": "finder"}
        assert of_subagent == [{"type": "user", "uuid": "s"}, about]
        assert "was removed from" in caplog.text

    async def test_that_is_removed_again_and_again_is_told(
        self, store: Away, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.write(tmp_path)
        append = SqliteStore.append

        async def append_and_remove(self: Any, key: Any, entries: Any, **how: Any) -> None:
            await append(self, key, entries, **how)
            await self.delete(key_of("agent", SESSION))

        monkeypatch.setattr(SqliteStore, "append", append_and_remove)
        recording = Recording(store, "agent", SESSION)
        recording.is_also_in(tmp_path)
        await recording.append(FROM_SDK, [entry("a")])
        await recording.append(FROM_SDK, [entry("b")])
        assert "the conversation was removed" in str(await recording.settle())

    async def test_is_told_with_each_turn_where_its_beginning_is_unknown(
        self, recording: Recording, store: Away
    ) -> None:
        recording.knows([entry("a")])
        for word in ("b", "c"):
            await recording.append(FROM_SDK, [entry(word)])
            problem = await recording.settle()
            assert problem is not None
            assert "s.db cannot be used: the conversation was removed" in problem
        assert await store.load(key_of("agent", SESSION)) is None


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
        assert await recording.settle() is None
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
