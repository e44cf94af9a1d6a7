"""The text of the model's messages, given out piece by piece and each piece once.

The same text comes twice from the SDK: as deltas while the model writes and as a whole message
after it. Sometimes only one of the two comes. And when the connection to the API breaks, Claude
Code asks again, and the deltas that were given out before the break come once more.
"""

from __future__ import annotations


class TextStream:
    """What of a turn's text has been given out."""

    def __init__(self) -> None:
        self._message_id: str | None = None
        self._unfinished = ""
        self._lost = ""
        self._again = ""

    @property
    def unfinished(self) -> str:
        """Given out of a message that has not come whole (yet)."""
        return self._unfinished

    def begin(self, message_id: str) -> None:
        """A message begins to come in deltas."""
        self._lose()
        self._message_id = message_id

    def add(self, text: str) -> str:
        """A delta; returns what of it is new to the reader."""
        self._unfinished += text
        return self._new(text)

    def complete(self, message_id: str | None, text: str) -> str:
        """A whole message or block; returns what of it is new to the reader."""
        if message_id is not None and message_id == self._message_id and self._unfinished:
            self._unfinished = ""
            return ""
        self._lose()
        return self._new(text)

    def _lose(self) -> None:
        """The message so far will not be completed: another one takes its place."""
        if self._unfinished:
            self._lost, self._again, self._unfinished = self._unfinished, "", ""

    def _new(self, text: str) -> str:
        if not self._lost:
            return text
        self._again += text
        lost, again = self._lost, self._again
        if lost.startswith(again):
            return ""  # said before the break, word for word
        self._lost = ""
        if again.startswith(lost):
            return again[len(lost) :]
        return "\n\n" + again  # the second answer goes another way; what was said stays said
