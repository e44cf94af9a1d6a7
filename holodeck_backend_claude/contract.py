"""What backends, tools and their consumers agree on: results, events, sessions, adapters, errors.

Nothing here knows a backend or a tool type, and nothing here imports one. The names and the
eight first fields of :class:`ExecutionResult` are those of the HoloDeck execution interface.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

JsonSchema: TypeAlias = dict[str, Any]
"""A JSON Schema 2020-12 document as parsed JSON."""


# --------------------------------------------------------------------------------------- errors


class HoloDeckError(Exception):
    """Base of every error this package raises on purpose; its text is written for the user."""


class ConfigError(HoloDeckError):
    """An agent file is missing, unreadable or wrong; the text says where and what to do."""


class PluginError(HoloDeckError):
    """A plugin that is needed is missing, blocked or broken, or breaks the plugin API."""


class BackendError(HoloDeckError):
    """Base for all backend errors.

    Attributes:
        result: What the turn had produced before it failed, or None before any turn.
    """

    def __init__(self, message: str, *, result: ExecutionResult | None = None) -> None:
        super().__init__(message)
        self.result = result


class BackendInitError(BackendError):
    """Raised during ``initialize()``: startup validation failures."""


class BackendSessionError(BackendError):
    """Raised during ``send()``: session-level failures such as a subprocess crash."""


class BackendTimeoutError(BackendError):
    """Raised when a single invocation exceeds the configured timeout."""


class ToolServerError(HoloDeckError):
    """The server behind a tool is gone, so that the tool's call could not be made or answered.

    Attributes:
        server: Its name in agent.yaml.
    """

    def __init__(self, message: str, *, server: str) -> None:
        super().__init__(message)
        self.server = server


# -------------------------------------------------------------------------------------- results


@dataclass
class ExecutionResult:
    """What one turn of an agent produced, the same on every backend.

    Attributes:
        response: The final answer, not all text of all model turns run together.
        tool_calls: ``{"name", "arguments", "call_id"}`` per call, in the order of the calls; a
            subagent's calls also have ``parent_call_id``, the call that runs the subagent.
        tool_results: ``{"call_id", "result", "is_error"}`` per finished call; of a subagent's
            calls also ``parent_call_id``.
        token_usage: ``input_tokens`` (cached input included), ``output_tokens``,
            ``total_tokens``; where the provider tells, also ``cache_read_input_tokens`` and
            ``cache_creation_input_tokens``, which are parts of ``input_tokens``.
        structured_output: The validated value where the agent has a response format.
        num_turns: Model turns used, one per model answer.
        is_error: True if the turn did not end as it should.
        error_reason: One of the reasons of the contract (``docs/reference/results.md``).
        cost_usd: Cost in US dollars as the provider or SDK reports it.
        session_id: The id of the conversation.
        thinking: The model's thinking, where it was asked for.
        duration_ms: Wall time of the turn in milliseconds.
        permission_denials: ``{"name", "arguments", "call_id", "reason"}`` per refused tool call.
        model: The model that answered, as the provider names it.
        error_detail: What the provider, tool or process said about the error, secrets masked.
        warnings: What else is to be known about the turn, such as that it could not be stored.
    """

    response: str
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    tool_results: list[dict[str, Any]] = field(default_factory=list)
    token_usage: dict[str, int] = field(default_factory=dict)
    structured_output: Any | None = None
    num_turns: int = 1
    is_error: bool = False
    error_reason: str | None = None
    cost_usd: float | None = None
    session_id: str | None = None
    thinking: str | None = None
    duration_ms: int | None = None
    permission_denials: list[dict[str, Any]] = field(default_factory=list)
    model: str | None = None
    error_detail: str | None = None
    warnings: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain data, in the order of the declaration (``--json`` prints this)."""
        return asdict(self)


# --------------------------------------------------------------------------------------- events


@dataclass(frozen=True)
class TextDelta:
    """A piece of the answer, as the model writes it."""

    text: str


@dataclass(frozen=True)
class ThinkingDelta:
    """A piece of the model's thinking."""

    text: str


@dataclass(frozen=True)
class ToolStart:
    """The model called a tool; ``parent_call_id`` is the call that runs the subagent, if any."""

    call_id: str
    name: str
    arguments: dict[str, Any]
    parent_call_id: str | None = None


@dataclass(frozen=True)
class ToolEnd:
    """A tool call ended, with the text the model got; ``parent_call_id`` as in ToolStart."""

    call_id: str
    name: str
    result: str
    is_error: bool
    parent_call_id: str | None = None


@dataclass(frozen=True)
class Retrying:
    """The provider refused a request and it will be sent again after ``delay_seconds``."""

    attempt: int
    reason: str
    delay_seconds: float


@dataclass(frozen=True)
class TurnEnd:
    """The last event of a turn."""

    result: ExecutionResult


TurnEvent: TypeAlias = TextDelta | ThinkingDelta | ToolStart | ToolEnd | Retrying | TurnEnd


# ---------------------------------------------------------------------------------- permissions


@dataclass(frozen=True)
class PermissionRequest:
    """A tool call that somebody has to agree to.

    Attributes:
        name: The tool, as results call it.
        arguments: What the model gave it.
        reason: Why it is asked, e.g. ``it runs a command line``.
    """

    name: str
    arguments: Mapping[str, Any]
    reason: str


AskPermission: TypeAlias = Callable[[PermissionRequest], Awaitable[bool]]
"""``await ask_permission(request)``: True lets the call run. It is asked for one call at a time."""


# ---------------------------------------------------------------------------------- input files


@dataclass(frozen=True)
class InputFile:
    """A file that goes along with a message.

    Attributes:
        name: What the model is told it is called.
        media_type: ``image/png``, ``image/jpeg``, ``image/gif``, ``image/webp``,
            ``application/pdf`` or ``text/plain``; its content has to agree.
        data: What is in it; text as UTF-8.
    """

    name: str
    media_type: str
    data: bytes = field(repr=False)


FileInput: TypeAlias = str | PathLike[str] | InputFile
"""The path of a file, or a file that was read before."""


# ------------------------------------------------------------------------- sessions and backends


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


# ---------------------------------------------------------------------------------------- tools


@dataclass(frozen=True)
class TextContent:
    """Text for the model."""

    text: str


@dataclass(frozen=True)
class ImageContent:
    """An image for the model: raw bytes and a media type such as ``image/png``."""

    data: bytes
    mime_type: str


@dataclass(frozen=True)
class ResourceContent:
    """A text resource with the URI it came from."""

    uri: str
    text: str
    mime_type: str = "text/plain"


ContentBlock: TypeAlias = TextContent | ImageContent | ResourceContent


@dataclass(frozen=True)
class ToolAnnotations:
    """Hints about a tool, with the meaning MCP gives them; None means not stated."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


DEFAULT_CALL_SECONDS = 60.0
DEFAULT_RESULT_CHARS = 100_000
DEFAULT_CALLS_AT_ONCE = 4
"""The limits of a tool's calls where nothing else is said: time, size of a result, number."""


@dataclass(frozen=True)
class ToolCall:
    """One call of a tool by the model.

    Attributes:
        arguments: Validated against the adapter's ``input_schema``.
        call_id: The model's id of the call, where the backend knows it.
        session_id: The conversation's id, where the backend knows it.
        deadline: When the call is given up, on the clock of ``time.monotonic()``, in seconds.
        report_progress: ``report_progress(done, total, message)``; does nothing where the
            backend has no place to show progress.
    """

    arguments: Mapping[str, Any]
    call_id: str | None = None
    session_id: str | None = None
    deadline: float | None = None
    report_progress: Callable[[float, float | None, str], None] = lambda _d, _t, _m: None


@dataclass(frozen=True)
class ToolResult:
    """What a tool gives back to the model."""

    content: Sequence[ContentBlock] = ()
    structured: Any | None = None
    is_error: bool = False

    @classmethod
    def from_text(cls, text: str, *, is_error: bool = False) -> ToolResult:
        """A result of one text block."""
        return cls(content=(TextContent(text),), is_error=is_error)

    @property
    def text(self) -> str:
        """The text blocks, joined by newlines; other blocks are named in brackets."""
        return "\n".join(_block_text(block) for block in self.content)


def _block_text(block: ContentBlock) -> str:
    match block:
        case TextContent(text=text) | ResourceContent(text=text):
            return text
        case ImageContent(mime_type=mime_type, data=data):
            return f"[{mime_type}, {len(data)} bytes]"


@runtime_checkable
class ToolAdapter(Protocol):
    """A tool as every backend sees it.

    Attributes:
        name: What the model calls it; ``[a-zA-Z0-9_-]``, unique within the agent.
        description: What the model reads to decide whether to call it.
        input_schema: JSON Schema 2020-12 with a root object and no ``$ref``.
        annotations: Hints for the backend and for permissions.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def description(self) -> str: ...  # noqa: D102
    @property
    def input_schema(self) -> JsonSchema: ...  # noqa: D102
    @property
    def annotations(self) -> ToolAnnotations: ...  # noqa: D102

    async def call(self, call: ToolCall) -> ToolResult:
        """Run the tool. What it raises reaches the model as an error result."""
        ...


AskModel: TypeAlias = Callable[[str], Awaitable[str]]
"""``await ask_model(prompt)``: the agent's model without tools; the answer's text."""

ShowProgress: TypeAlias = Callable[[str, int, int], None]
"""``progress(label, done, total)``: how far long work is, such as the opening of a tool."""


# ----------------------------------------------------------------------------------- embeddings


class Embedder(Protocol):
    """Turns text into vectors; vectors of similar texts point the same way.

    Attributes:
        fingerprint: Names the model. Vectors are reused as long as it stays the same.
        dimensions: Length of a vector; None where only an answer of the provider tells.
    """

    @property
    def fingerprint(self) -> str: ...  # noqa: D102
    @property
    def dimensions(self) -> int | None: ...  # noqa: D102

    async def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of passages, of shape ``(len(texts), dimensions)``.

        Raises:
            EmbeddingError: The call failed; ``rejected_input`` tells whether other texts may work.
        """
        ...

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query, of shape ``(dimensions,)``.

        Raises:
            EmbeddingError: The call failed.
        """
        ...

    async def close(self) -> None:
        """Release what it holds; may be called twice, and it may be used again."""
        ...
