"""One conversation on its way into a store: in order, each entry once, none lost unnoticed."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from claude_agent_sdk import SessionKey, SessionStoreEntry

    from holodeck_backend_claude.claude.transcripts.store import TranscriptStore

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Batch:
    key: SessionKey
    entries: list[SessionStoreEntry]
    name: str = field(default_factory=lambda: uuid4().hex)


class Recording:
    """What the SDK is given as its ``session_store`` for one conversation.

    The SDK would give up entries that a store does not take. This keeps them, in their order, and
    offers them again with whatever comes next, so that a store that was away for a while gets
    everything.

    The SDK names a conversation by the folder its process runs in, which is another one each
    time; in the store it is under the project that is given here.

    Args:
        store: Where it goes; closed with the recording.
        project: Under which name.
        session_id: The conversation.
    """

    def __init__(self, store: TranscriptStore, project: str, session_id: str) -> None:
        self._store = store
        self._project = project
        self._session_id = session_id
        self._waiting: deque[_Batch] = deque()
        self._one_at_a_time = asyncio.Lock()
        self._known: set[str] = set()

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Take entries of the process and offer them to the store; see :meth:`settle`."""
        self._add({**key, "project_key": self._project}, entries)
        await self.settle()

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Nothing: what is to be resumed is in the private folder before the process starts."""
        return None

    async def catch_up(self, entries: list[SessionStoreEntry]) -> None:
        """Add what a process that was killed wrote to its file and did not tell any more."""
        told = [entry for entry in entries if entry.get("uuid", "") not in self._known | {""}]
        if told:
            self._add({"project_key": self._project, "session_id": self._session_id}, told)
        await self.settle()

    def knows(self, entries: list[SessionStoreEntry]) -> None:
        """These are in the store already."""
        self._known |= {entry.get("uuid", "") for entry in entries}

    async def settle(self) -> str | None:
        """Offer the store what it has not taken yet.

        Returns:
            Why something is still waiting, or None.
        """
        async with self._one_at_a_time:
            while self._waiting:
                batch = self._waiting[0]
                try:
                    await self._store.append(batch.key, batch.entries, batch=batch.name)
                except Exception as cause:  # noqa: BLE001  whatever it is, nothing may be lost
                    return f"the conversation is not stored to its end: {cause}"
                self._waiting.popleft()
        return None

    async def close(self) -> None:
        """Offer what is left, and close the store."""
        problem = await self.settle()
        if problem is not None:
            log.warning("%s", problem)
        await self._store.close()

    def _add(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        if key["session_id"] == self._session_id and "subpath" not in key:
            self.knows(entries)
        self._waiting.append(_Batch(key, entries))
