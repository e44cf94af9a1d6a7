"""What a store of transcripts has to do: the SDK's ``SessionStore``, and what we ask beside it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from holodeck_backend_claude.contract import BackendSessionError, StoredSession

if TYPE_CHECKING:
    from claude_agent_sdk import SessionKey, SessionStoreEntry, SessionStoreListEntry
    from claude_agent_sdk.types import SessionListSubkeysKey

SCHEMA_VERSION = 1
OPERATION_SECONDS = 10.0
"""How long one operation of a store may take before it counts as failed."""

Row: TypeAlias = tuple[str | None, str]
"""One entry as a store keeps it: its ``uuid`` if it has one, and the entry as JSON."""

_LONGEST_TITLE = 80
_clock = threading.Lock()
_latest = [0]  # what the clock said last in this program


class StoreError(BackendSessionError):
    """The store cannot do what was asked; the text says which one and why."""


class ConversationGoneError(StoreError):
    """A conversation that is to go on is in the store no longer: somebody removed it."""


class TranscriptStore(Protocol):
    """Keeps the entries of conversations, each under a project and a session id.

    The methods that the SDK knows have its names and meaning, and pass its conformance suite.
    What goes wrong is a :class:`StoreError`.
    """

    @property
    def place(self) -> str:
        """Where the conversations are, for messages; no secret in it."""
        ...

    async def append(
        self,
        key: SessionKey,
        entries: list[SessionStoreEntry],
        *,
        batch: str | None = None,
        goes_on: bool = False,
    ) -> None:
        """Add entries, all of them or none.

        Args:
            key: The conversation, or with ``subpath`` that of a subagent in it.
            entries: In their order; one whose ``uuid`` is there already is left out.
            batch: A name of this very call; the same one again right after it changes nothing.
            goes_on: Whether the conversation is known to be there.

        Raises:
            ConversationGoneError: It is not there, although it is to go on.
        """
        ...

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """The entries in the order they were added; None where there are none."""
        ...

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """The ids of a project's conversations, and when each was last written."""
        ...

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """The ``subpath`` of each subagent of a conversation."""
        ...

    async def delete(self, key: SessionKey) -> None:
        """Remove a conversation with its subagents, or with ``subpath`` only that one."""
        ...

    async def overview(self, project_key: str) -> list[StoredSession]:
        """A project's conversations, the last used first."""
        ...

    async def claim(self, key: SessionKey) -> bool:
        """Keep a conversation for this store object alone, until it is released or closed.

        The claim of a program that was killed ends with it.

        Returns:
            False where another one has it, in this program or anywhere.
        """
        ...

    async def release(self, key: SessionKey) -> None:
        """Give up a claim."""
        ...

    async def close(self) -> None:
        """Close what is open and give up every claim; may be called twice."""
        ...


def key_of(project: str, session_id: str) -> SessionKey:
    """The key of a conversation itself."""
    return {"project_key": project, "session_id": session_id}


def columns_of(key: SessionKey) -> tuple[str, str, str]:
    """Project, session id and subpath of a key; the conversation itself has an empty subpath."""
    return key["project_key"], key["session_id"], key.get("subpath", "")


def rows_of(entries: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Entries as rows; the JSON is plain ASCII, which every store keeps as it is."""
    return [(_uuid(entry), json.dumps(entry, separators=(",", ":"))) for entry in entries]


def entries_of(texts: Iterable[str]) -> list[SessionStoreEntry] | None:
    """The entries back from their JSON; None where there are none."""
    return [json.loads(text) for text in texts] or None


def _uuid(entry: Mapping[str, Any]) -> str | None:
    value = entry.get("uuid")
    return value if isinstance(value, str) and value else None


def now_ms() -> int:
    """The time in milliseconds since 1970, as the SDK counts it; never the same one twice."""
    now = time.time_ns() // 1_000_000
    with _clock:
        _latest[0] = max(now, _latest[0] + 1)
        return _latest[0]


def stored_session(session_id: str, title: str, started_ms: int, used_ms: int) -> StoredSession:
    """A row of the overview."""
    return StoredSession(session_id, title, _time(started_ms), _time(used_ms))


def _time(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1_000, UTC)


def title_of(entries: Sequence[Mapping[str, Any]]) -> str:
    """The first thing the user said in these entries, on one line and shortened; or nothing."""
    for entry in entries:
        if entry.get("type") == "user" and not entry.get("isMeta"):
            said = _text(entry.get("message"))
            text = " ".join("".join(c if c.isprintable() else " " for c in said).split())
            if text:
                return text if len(text) <= _LONGEST_TITLE else f"{text[: _LONGEST_TITLE - 1]}…"
    return ""


def _text(message: object) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return " ".join(text for text in texts if isinstance(text, str))
