"""Server-sent events, read from the body of an answer within bounds of memory."""

from __future__ import annotations

import codecs
import io
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from holodeck_backend_claude.tools.mcp.errors import TooLongError
from holodeck_backend_claude.tools.mcp.streams import LONGEST_MESSAGE

_LONGEST_RETRY = 9  # digits: 11 days


@dataclass
class Event:
    """One event.

    Attributes:
        kind: What it is called; ``message`` where nothing else is said.
        lines: Those of its data.
        id: Where the stream goes on after it, if the server can go on.
        retry: Milliseconds to wait before that, as the server wants it.
    """

    kind: str = "message"
    lines: list[str] = field(default_factory=list)
    id: str | None = None
    retry: int | None = None
    length: int = 0

    @property
    def data(self) -> str:
        """What it says."""
        return "\n".join(self.lines)

    def take(self, line: str) -> None:
        """Take a line of it; one that means nothing is passed over."""
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "data":
                self.lines.append(value)
                self.length += len(value) + 1
            case "event":
                self.kind = value or "message"
            case "id" if "\0" not in value:
                self.id = value
            case "retry" if value.isascii() and value.isdigit() and len(value) <= _LONGEST_RETRY:
                self.retry = int(value)


async def events_in(pieces: AsyncIterator[bytes]) -> AsyncIterator[Event]:
    """The events of a body.

    Raises:
        TooLongError: One of them is longer than a message may be.
    """
    utf8 = codecs.getincrementaldecoder("utf-8-sig")("replace")
    decode = io.IncrementalNewlineDecoder(utf8, translate=True).decode
    event, line, line_length = Event(), list[str](), 0
    async for piece in pieces:
        *ended, rest = decode(piece).split("\n")
        for end in ended:
            if whole := "".join((*line, end)):
                event.take(whole)
            elif event != Event():
                yield event
                event = Event()
            line, line_length = [], 0
        line.append(rest)
        line_length += len(rest)
        if event.length + line_length > LONGEST_MESSAGE:
            raise TooLongError(LONGEST_MESSAGE)
