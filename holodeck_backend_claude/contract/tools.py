"""A tool as every backend sees it, what calls it, and what it gives back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

JsonSchema: TypeAlias = dict[str, Any]
"""A JSON Schema 2020-12 document as parsed JSON."""


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
