"""Conversations that can be resumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True)
class StoredSession:
    """A conversation that can be resumed.

    Attributes:
        session_id: What ``create_session(resume=…)`` takes.
        title: The first thing the user said in it, on one line and shortened.
        started: When its first turn was stored, in UTC.
        last_used: When its last turn was stored, in UTC.
    """

    session_id: str
    title: str
    started: datetime
    last_used: datetime


class StoredSessions(Protocol):
    """The conversations that an agent has stored.

    Attributes:
        place: Where they are, for messages.
    """

    @property
    def place(self) -> str: ...  # noqa: D102

    async def newest_first(self) -> Sequence[StoredSession]:
        """All of them, the last used first.

        Raises:
            BackendSessionError: They cannot be read.
        """
        ...

    async def delete(self, session_id: str) -> bool:
        """Remove one of them for good.

        Returns:
            False where there is none with this id.

        Raises:
            BackendSessionError: It is in use, or cannot be removed.
        """
        ...
