"""The last lines that a server wrote to its standard error, within bounds of memory."""

from __future__ import annotations

import logging
from collections import deque

from holodeck_backend_claude.redaction import mask_secrets

LINES = 20
LONGEST_LINE = 500


class Tail:
    """Keeps the last lines of what it is fed.

    Args:
        log: Each line goes to it, for whoever looks for more than the last ones.
    """

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._lines: deque[str] = deque(maxlen=LINES)
        self._begun = ""

    def feed(self, text: str) -> None:
        """Take what was written; lines may come in pieces."""
        *ended, rest = text.split("\n")
        for piece in ended:
            self.add((self._begun + piece[:LONGEST_LINE])[:LONGEST_LINE])
            self._begun = ""
        self._begun = (self._begun + rest[:LONGEST_LINE])[:LONGEST_LINE]

    def add(self, line: str) -> None:
        """Take a whole line."""
        if line := line.strip()[:LONGEST_LINE]:
            self._lines.append(line)
            self._log.debug("%s", mask_secrets(line))

    @property
    def text(self) -> str:
        """What to put after an error: the lines, secrets masked, or nothing."""
        lines = [*self._lines, *([self._begun.strip()] if self._begun.strip() else [])]
        if not lines:
            return ""
        return mask_secrets("\nIts last output:\n  " + "\n  ".join(lines[-LINES:]))
