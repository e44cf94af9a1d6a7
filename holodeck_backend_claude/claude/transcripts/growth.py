"""What a process has added to a transcript since it was given a message."""

from __future__ import annotations

import json
from pathlib import Path


class TranscriptEnd:
    """Where a transcript ends, to find out later what came after it.

    However long the transcript is, only what came after is read.

    Args:
        config: The configuration folder of the process.
        session_id: The conversation.
    """

    def __init__(self, config: Path, session_id: str) -> None:
        self._config = config
        self._session_id = session_id
        path = self._path()
        self._size = path.stat().st_size if path else 0

    def has_message_after(self) -> bool:
        """Whether a message of the user, whole, was written down since."""
        path = self._path()
        if path is None:
            return False
        try:
            with path.open("rb") as lines:
                lines.seek(self._size)
                return any(map(_is_message, lines))
        except OSError:
            return True  # nobody knows, and a message that is lost is better than one said twice

    def _path(self) -> Path | None:
        return next((self._config / "projects").glob(f"*/{self._session_id}.jsonl"), None)


def _is_message(line: bytes) -> bool:
    if not line.endswith(b"\n"):
        return False  # its process was killed while it wrote
    try:
        entry = json.loads(line)
    except ValueError:
        return False
    return isinstance(entry, dict) and entry.get("type") == "user"
