"""The tool calls of a streamed answer, put together from their pieces."""

from __future__ import annotations

from dataclasses import dataclass

from holodeck_backend_claude.encodable import encodable
from holodeck_backend_claude.sk._imports import FunctionCallContent, StreamingChatMessageContent


@dataclass
class _Call:
    call_id: str
    index: int | None
    name: str = ""
    arguments: str = ""


class CallAssembly:
    """Takes the pieces out of the messages of one answer.

    Semantic Kernel would join them itself, but loses a piece of arguments that is exactly ``{}``,
    mixes up calls where a server counts all of them as the first or does not count them, and
    copies everything once per piece.
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    def take_from(self, message: StreamingChatMessageContent) -> None:
        """Move the pieces of tool calls out of a message."""
        pieces = [item for item in message.items if isinstance(item, FunctionCallContent)]
        if not pieces:
            return
        message.items = [i for i in message.items if not isinstance(i, FunctionCallContent)]
        for piece in pieces:
            call = self._call_of(piece)
            call.call_id = call.call_id or piece.id or ""
            call.name = call.name or piece.name or ""
            call.arguments += piece.arguments if isinstance(piece.arguments, str) else ""

    def calls(self) -> list[FunctionCallContent]:
        """The complete calls, in their order; a name is never split into plugin and function."""
        return [
            FunctionCallContent(
                id=encodable(call.call_id),
                index=position,
                name=encodable(call.name),
                function_name=encodable(call.name),
                arguments=encodable(call.arguments),
            )
            for position, call in enumerate(self._calls)
        ]

    def _call_of(self, piece: FunctionCallContent) -> _Call:
        """The call a piece belongs to: a new id begins a new one, whatever the index says."""
        unmarked = not piece.id and piece.index is None
        for call in () if unmarked and piece.name else reversed(self._calls):
            if piece.index in (None, call.index) and piece.id in (None, "", call.call_id):
                return call
        self._calls.append(_Call(piece.id or "", piece.index))
        return self._calls[-1]
