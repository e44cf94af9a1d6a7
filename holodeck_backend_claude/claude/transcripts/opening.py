"""From what agent.yaml and the caller say about a conversation to how it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from holodeck_backend_claude.claude.settings import settings_of
from holodeck_backend_claude.claude.settings.sessions import DEFAULT_PATH
from holodeck_backend_claude.claude.transcripts.beginning import Beginning
from holodeck_backend_claude.claude.transcripts.recording import Recording
from holodeck_backend_claude.claude.transcripts.store import key_of
from holodeck_backend_claude.config.problems import shorten
from holodeck_backend_claude.contract import BackendSessionError
from holodeck_backend_claude.redaction import passwords_in, remember_secrets

if TYPE_CHECKING:
    from holodeck_backend_claude.claude.transcripts.files import Transcripts
    from holodeck_backend_claude.claude.transcripts.store import TranscriptStore
    from holodeck_backend_claude.config import Agent


def open_store(agent: Agent) -> TranscriptStore | None:
    """The store that agent.yaml names, not connected yet; None where it names none.

    Raises:
        StoreError: Its library is missing, or its address is none.
    """
    said = settings_of(agent).sessions
    if said is None:
        return None
    if said.store == "sqlite":
        from holodeck_backend_claude.claude.transcripts.sqlite import SqliteStore

        return SqliteStore(agent.base_dir / (said.path or DEFAULT_PATH))
    from holodeck_backend_claude.claude.transcripts.postgres import PostgresStore

    url = said.url.get_secret_value() if said.url else ""
    remember_secrets(passwords_in(url))
    return PostgresStore(url)


async def begin(agent: Agent, *, resume: str | None = None, fork: bool = False) -> Beginning:
    """How a conversation of an agent begins; it is claimed in the store, where there is one.

    Args:
        agent: Whose conversation.
        resume: The id of an earlier one.
        fork: True to leave that one as it is.

    Raises:
        BackendSessionError: There is no such conversation, it is in use, or the store is down.
        TypeError: ``resume`` is no text.
        ValueError: ``fork`` without ``resume``.
    """
    _check_is_text(resume)
    if fork and resume is None:
        raise ValueError("fork=True needs resume=, the id of the conversation to begin with")
    store = open_store(agent)
    if store is None:
        if resume is not None:
            raise BackendSessionError(
                f"the conversation {shorten(resume)} cannot be resumed: the agent {agent.name!r} "
                f"stores none; set claude.sessions.store in agent.yaml to have them stored"
            )
        return Beginning()
    try:
        return await _begin_in(store, agent.name, resume=resume, fork=fork)
    except BaseException:
        await store.close()
        raise


async def _begin_in(
    store: TranscriptStore, project: str, *, resume: str | None, fork: bool
) -> Beginning:
    new = Beginning()
    session_id = new.session_id if resume is None or fork else resume
    found: Transcripts = {}
    if resume is not None and not await _is_known(store, project, resume):
        raise BackendSessionError(
            f"there is no conversation {shorten(resume)} of the agent {project!r} in "
            f"{store.place}; 'holodeck-claude sessions agent.yaml list' shows which there are"
        )
    if not await store.claim(key_of(project, session_id)):
        raise BackendSessionError(
            f"the conversation {session_id!r} is in use by another session; wait until that one "
            f"is closed, or begin a new one with its history (fork)"
        )
    recording = Recording(store, project, session_id)
    if resume is not None:  # read once it is claimed: before, another may have added to it
        found = await _load_all(store, project, resume)
        if not fork:
            recording.knows(list(found[""]))
    return Beginning(session_id, resumes=resume, transcripts=found, recording=recording)


def _check_is_text(resume: object) -> None:
    if resume is not None and not isinstance(resume, str):
        said = type(resume).__name__
        raise TypeError(f"resume= takes the id of a conversation, which is a text, not a {said}")


async def _load_all(store: TranscriptStore, project: str, session_id: str) -> Transcripts:
    key = key_of(project, session_id)
    found = {"": await store.load(key) or []}
    for subpath in await store.list_subkeys({"project_key": project, "session_id": session_id}):
        found[subpath] = await store.load({**key, "subpath": subpath}) or []
    return found


async def _is_known(store: TranscriptStore, project: str, session_id: str) -> bool:
    try:
        UUID(session_id)  # it becomes the name of a file
    except ValueError:
        return False
    sessions = await store.list_sessions(project)
    return any(each["session_id"] == session_id for each in sessions)
