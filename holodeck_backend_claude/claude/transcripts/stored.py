"""What an agent has stored: listed, deleted, and removed when nobody has used it for long."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from holodeck_backend_claude.claude.settings import settings_of
from holodeck_backend_claude.claude.transcripts.opening import open_store
from holodeck_backend_claude.claude.transcripts.store import key_of
from holodeck_backend_claude.contract import BackendSessionError

if TYPE_CHECKING:
    from holodeck_backend_claude.claude.transcripts.store import TranscriptStore
    from holodeck_backend_claude.config import Agent
    from holodeck_backend_claude.contract import StoredSession, StoredSessions

log = logging.getLogger(__name__)


def stored_sessions(agent: Agent) -> AbstractAsyncContextManager[StoredSessions] | None:
    """The stored conversations of an agent; None where it stores none.

    Raises:
        StoreError: The store's library is missing, or its address is none.
    """
    store = open_store(agent)
    return None if store is None else _opened(store, agent.name)


@asynccontextmanager
async def _opened(store: TranscriptStore, project: str) -> AsyncIterator[StoredSessions]:
    try:
        yield _InStore(store, project)
    finally:
        await store.close()


class _InStore:
    """See :class:`~holodeck_backend_claude.contract.StoredSessions`."""

    def __init__(self, store: TranscriptStore, project: str) -> None:
        self._store = store
        self._project = project

    @property
    def place(self) -> str:
        return self._store.place

    async def newest_first(self) -> Sequence[StoredSession]:
        return await self._store.overview(self._project)

    async def delete(self, session_id: str) -> bool:
        if all(session_id != each.session_id for each in await self.newest_first()):
            return False
        key = key_of(self._project, session_id)
        if not await self._store.claim(key):
            raise BackendSessionError(
                f"the conversation {session_id!r} is in use; it can be deleted when its session "
                f"is closed"
            )
        await self._store.delete(key)
        await self._store.release(key)
        return True


async def check_store(agent: Agent) -> None:
    """See that the agent's store works, and delete what is older than it is to keep.

    Raises:
        StoreError: It does not work.
    """
    opening = stored_sessions(agent)
    if opening is None:
        return
    said = settings_of(agent).sessions
    async with opening as stored:
        known = await stored.newest_first()
        if said is None or said.keep_days is None:
            return
        oldest = datetime.now(UTC) - timedelta(days=said.keep_days)
        for session in known:
            if session.last_used < oldest:
                await _delete_unless_in_use(stored, session.session_id)


async def _delete_unless_in_use(stored: StoredSessions, session_id: str) -> None:
    try:
        await stored.delete(session_id)
    except BackendSessionError as cause:
        log.info("%s", cause)
