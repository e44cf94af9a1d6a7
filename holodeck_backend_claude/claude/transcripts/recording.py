"""One conversation on its way into a store: in order, each entry once, none lost unnoticed."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from holodeck_backend_claude.claude.transcripts.files import read_transcripts
from holodeck_backend_claude.claude.transcripts.store import (
    OPERATION_SECONDS,
    ConversationGoneError,
    key_of,
)
from holodeck_backend_claude.concurrency import end_task, in_thread

if TYPE_CHECKING:
    from claude_agent_sdk import SessionKey, SessionStoreEntry

    from holodeck_backend_claude.claude.transcripts.store import TranscriptStore

log = logging.getLogger(__name__)

SETTLE_SECONDS = OPERATION_SECONDS + 2
"""How long the end of a turn waits for the store: for one operation, whatever it comes to."""

_END_SECONDS = 3.0  # that an operation may take to end once the recording is closed


@dataclass(frozen=True)
class _Batch:
    key: SessionKey
    entries: list[SessionStoreEntry]
    name: str = field(default_factory=lambda: uuid4().hex)


class Recording:
    """What the SDK is given as its ``session_store`` for one conversation.

    The SDK waits for its store before it hands on the result of a turn, and gives up entries that
    are not taken. This keeps them, in their order, and hands them over beside the turn: a store
    that hangs costs no answer, and one that was away for a while gets everything.

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
        self._known: set[str] = set()
        self._is_in_store = False
        self._config: Path | None = None
        self._handing_over: asyncio.Task[None] | None = None
        self._problem: str | None = None
        self._is_given_up = False  # until the end of the turn

    @property
    def not_stored(self) -> str | None:
        """Why something is not in the store; None where everything is."""
        if not self._waiting:
            return None
        why = self._problem or f"{self._store.place} has not taken it within {SETTLE_SECONDS:g} s"
        return f"the conversation is not stored to its end: {why}"

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Take entries of the process; whether they are stored is told by :meth:`settle`."""
        self._add({**key, "project_key": self._project}, entries)
        self._hand_over()

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Nothing: what is to be resumed is in the private folder before the process starts."""
        return None

    def catch_up(self, entries: list[SessionStoreEntry]) -> None:
        """Add what a process that was killed wrote to its file and did not tell any more."""
        told = [entry for entry in entries if entry.get("uuid", "") not in self._known | {""}]
        if told:
            self._add(key_of(self._project, self._session_id), told)
        self._hand_over()

    def knows(self, entries: list[SessionStoreEntry]) -> None:
        """These are in the store already."""
        self._is_in_store = True
        self._remember(entries)

    def is_also_in(self, config: Path) -> None:
        """The process has the whole conversation in this configuration folder."""
        self._config = config

    async def settle(self) -> str | None:
        """At the end of a turn: wait until the store has everything, or once until it fails.

        Returns:
            Why something is still waiting, or None.
        """
        if not self._is_handing_over:
            self._is_given_up = False
            self._hand_over()
        if self._handing_over is not None:
            await asyncio.wait({self._handing_over}, timeout=SETTLE_SECONDS)
        self._is_given_up = False
        return self.not_stored

    async def close(self) -> None:
        """Hand over what is left, and close the store.

        It may be called in another event loop where that of the session runs no longer.
        """
        handing_over = self._handing_over
        if handing_over and handing_over.get_loop() is not asyncio.get_running_loop():
            self._handing_over = None  # it does not go on; a part that was taken is known there
        problem = await self.settle()
        if problem is not None:
            log.warning("%s", problem)
        if self._handing_over is not None and not self._handing_over.done():
            label = "storing a conversation"
            await end_task(self._handing_over, label=label, grace=_END_SECONDS)
        await self._store.close()

    @property
    def _is_handing_over(self) -> bool:
        return self._handing_over is not None and not self._handing_over.done()

    def _add(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        if key["session_id"] == self._session_id and "subpath" not in key:
            self._remember(entries)
        self._waiting.append(_Batch(key, entries))

    def _remember(self, entries: list[SessionStoreEntry]) -> None:
        self._known |= {entry.get("uuid", "") for entry in entries}

    def _hand_over(self) -> None:
        """Begin to, unless the store failed in this turn: it would only be asked in vain."""
        if self._waiting and not self._is_given_up and not self._is_handing_over:
            self._handing_over = asyncio.create_task(
                self._hand_over_all(), name="holodeck-store-conversation"
            )

    async def _hand_over_all(self) -> None:
        has_begun_again = False
        try:
            while self._waiting:
                try:
                    await self._hand_over_next()
                except ConversationGoneError:
                    if has_begun_again or not await self._begin_again():
                        raise
                    has_begun_again = True
            self._problem = None
        except Exception as cause:  # noqa: BLE001  whatever it is, nothing may be lost
            self._problem, self._is_given_up = str(cause), True

    async def _hand_over_next(self) -> None:
        batch = self._waiting[0]
        await self._store.append(
            batch.key, batch.entries, batch=batch.name, goes_on=self._is_in_store
        )
        self._is_in_store = True
        self._waiting.popleft()

    async def _begin_again(self) -> bool:
        """Have everything stored that was said, from its first word; False where it is unknown."""
        if self._config is None:
            return False
        whole = await in_thread(read_transcripts, self._config, self._session_id)
        if not whole.get(""):
            return False
        log.warning(
            "the conversation %s was removed from %s and is stored there again",
            self._session_id,
            self._store.place,
        )
        key = key_of(self._project, self._session_id)
        again = deque(
            _Batch({**key, "subpath": subpath} if subpath else key, entries)
            for subpath, entries in whole.items()
            if entries
        )
        written = {_text(entry) for entries in whole.values() for entry in entries}
        for batch in self._waiting:  # the process may not have written all that it has told
            left = [entry for entry in batch.entries if _text(entry) not in written]
            if left:
                again.append(_Batch(batch.key, left))
        self._waiting, self._is_in_store = again, False
        return True


def _text(entry: SessionStoreEntry) -> str:
    return json.dumps(entry, sort_keys=True)
