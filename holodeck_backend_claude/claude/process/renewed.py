"""The process of one session, and another one in the place of one that is of no use any more."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from holodeck_backend_claude.claude.transcripts.growth import TranscriptEnd
from holodeck_backend_claude.contract import BackendSessionError

if TYPE_CHECKING:
    from claude_agent_sdk import Message

    from holodeck_backend_claude.calls import BoundTool
    from holodeck_backend_claude.claude.process.client import Client
    from holodeck_backend_claude.contract import InputFile

log = logging.getLogger(__name__)

# Claude Code keeps about 0.2 MB of each turn, beside the conversation itself (measured).
TURNS_OF_A_PROCESS = 30

Tools: TypeAlias = "Mapping[str, BoundTool]"


class RenewedClient:
    """The client that runs, or is to run next.

    Like a client it belongs to one task. A process that died, or that cannot be brought back to
    where a turn can begin, is ended; its folder stays, and the next one finds the transcript
    there.

    Args:
        connect: Makes a client and its tools; given the one that it replaces.
        session_id: The conversation.

    Attributes:
        client: The last one that was made.
        tools: Its tools by their wire name.
        is_starting: Whether a process is being started.
        is_usable: Whether there is a process that can take a turn, as far as is known.
        is_idle: Whether it is between two turns.
    """

    def __init__(
        self,
        connect: Callable[[Client | None], Awaitable[tuple[Client, Tools]]],
        *,
        session_id: str,
    ) -> None:
        self._connect = connect
        self._session_id = session_id
        self._sent_at: TranscriptEnd | None = None
        self.client: Client | None = None
        self.tools: Tools = {}
        self.is_starting = False
        self.is_usable = False
        self.is_idle = True
        self._turns = 0

    @property
    def running(self) -> Client:
        """The client that takes the turn.

        Raises:
            BackendSessionError: There is none.
        """
        if self.client is None or not self.is_usable:
            raise BackendSessionError("Claude Code is not running")
        return self.client

    async def start(self) -> None:
        """Start the first process, or another one in the place of the last.

        Raises:
            BackendSessionError: It did not start.
        """
        self.is_starting = True
        try:
            self.client, self.tools = await self._connect(self.client)
            await self.client.start()
            self.is_usable = self.is_idle = True
            self._turns = 0
        finally:
            self.is_starting = False

    async def send(self, message: str, files: Sequence[InputFile] = ()) -> None:
        """Give the process a user message, with the files that go along with it."""
        client = self.running
        folder = client.folder
        self._sent_at = TranscriptEnd(folder.configuration, self._session_id) if folder else None
        await client.send(message, files)

    @property
    def has_noted_message(self) -> bool:
        """Whether the message sent last is in the transcript: another process would know it."""
        return self._sent_at is not None and self._sent_at.has_message_after()

    async def settle(
        self, *, is_over: bool, goes_on: bool, feed: Callable[[Message], object]
    ) -> None:
        """After a turn: bring the process to where another turn can begin, or end it.

        Args:
            is_over: Whether the process has ended the turn itself.
            goes_on: Whether there can be another turn.
            feed: Takes what still comes of the turn.
        """
        self.is_idle = is_over or not self.is_usable
        if self.is_idle or not goes_on:
            return
        self.is_idle = await self.running.interrupt(feed)
        if not self.is_idle:
            await self.discard()

    async def refresh(self) -> bool:
        """After a turn: replace a process that has taken many, so that its memory stays bounded.

        Returns:
            Whether it was replaced; the other one knows the conversation from its transcript.
        """
        self._turns += 1
        if self._turns < TURNS_OF_A_PROCESS or not self.is_usable or not self.is_idle:
            return False
        if not self.running.can_be_replaced:
            return False
        await self.running.stop()
        self.is_usable = False
        try:
            await self.start()
        except Exception as cause:  # noqa: BLE001  the next turn starts one, and tells what is wrong
            log.debug("a process was not replaced after %d turns: %s", self._turns, cause)
        return True

    async def discard(self) -> None:
        """End a process that is of no use any more."""
        self.is_usable, self.is_idle = False, True
        if self.client is not None:
            await self.client.stop(at_once=True)

    async def end(self) -> None:
        """End the process and remove its folder."""
        if self.client is not None:
            await self.client.end(at_once=not self.is_idle)

    def described(self, cause: Exception) -> str:
        """What went wrong, with the last words of the process."""
        text, words = str(cause), self.client.last_words() if self.client else ""
        return text if words in text else f"{text}{words}"
