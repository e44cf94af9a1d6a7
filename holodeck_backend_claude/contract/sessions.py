"""A backend and the conversations it runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol, runtime_checkable

from holodeck_backend_claude.contract.events import TurnEvent
from holodeck_backend_claude.contract.input_files import FileInput
from holodeck_backend_claude.contract.results import ExecutionResult


@runtime_checkable
class AgentSession(Protocol):
    """A stateful conversation of several turns.

    A second ``send`` waits for the first. Failures raise :class:`BackendSessionError` or
    :class:`BackendTimeoutError`, whose ``result`` holds what there was; reaching the turn
    limit is a result, not an exception.
    """

    async def send(self, message: str, *, files: Sequence[FileInput] = ()) -> ExecutionResult:
        """Run one turn and return its result.

        Args:
            message: What the user says.
            files: Images, PDFs and texts that go along with it.

        Raises:
            BackendSessionError: The turn failed, or the session is closed.
            BackendTimeoutError: The turn exceeded its time.
            InputFileError: A file is missing, or of a kind or size that the model does not take.
        """
        ...

    def send_streaming(
        self, message: str, *, files: Sequence[FileInput] = ()
    ) -> AsyncIterator[str]:
        """Run one turn, yielding text deltas as the model writes them, each piece once."""
        ...

    def stream(self, message: str, *, files: Sequence[FileInput] = ()) -> AsyncIterator[TurnEvent]:
        """Run one turn, yielding typed events.

        The last one is always :class:`TurnEnd`, with ``is_error`` where the turn failed: this
        method raises only where no turn could begin, because the session is closed or a file
        cannot be sent.
        """
        ...

    async def close(self) -> None:
        """End the conversation and release what it holds; may be called twice."""
        ...


@runtime_checkable
class AgentBackend(Protocol):
    """Runs one agent. Constructing it opens nothing; ``initialize()`` does the work."""

    async def initialize(self) -> None:
        """Open the tools and check what can be checked before the first turn.

        Raises:
            BackendInitError: Something the agent needs is missing or broken.
        """
        ...

    async def invoke_once(
        self,
        message: str,
        context: list[dict[str, Any]] | None = None,
        *,
        files: Sequence[FileInput] = (),
    ) -> ExecutionResult:
        """Run one message in a fresh conversation; may run many times at once.

        Args:
            message: What the user says.
            context: Earlier turns as ``{"role": "user" | "assistant", "content": str}``.
            files: Images, PDFs and texts that go along with the message.

        Returns:
            The result; failures come back as ``is_error`` with an ``error_reason``.

        Raises:
            BackendSessionError: The backend is not initialized, or torn down.
            ValueError: ``context`` is not a list of such turns (``earlier_turns.check_context``),
                or a file cannot be sent (``input_files.InputFileError``).
        """
        ...

    async def create_session(
        self, *, resume: str | None = None, fork: bool = False
    ) -> AgentSession:
        """Begin a conversation that remembers its turns, or go on with an earlier one.

        Args:
            resume: The id of an earlier conversation (``ExecutionResult.session_id``).
            fork: True to begin a new conversation with the history of that one, which stays
                as it is.

        Raises:
            BackendSessionError: The session did not start, or there is no such conversation.
            ValueError: ``fork`` without ``resume``.
        """
        ...

    async def teardown(self) -> None:
        """Close every session and tool; may be called twice."""
        ...
