"""Where the file tools may reach: the working directory, but for secrets and files of ours."""

from __future__ import annotations

import os
import re
from pathlib import Path

PRIVATE_RULES = ("Read(**/.env*)", "Read(**/.holodeck/**)")
"""Claude Code's own rules for the same: they leave these files out of what it finds."""

PRIVATE = "private: .env files and .holodeck/ are never given to the model"
"""Why they are refused."""

_CLIMBS = re.compile(r"(?:^|[/{,\\])\.\.(?:[/},\\]|$)")


class PathRefusedError(Exception):
    """A path that a file tool may not use; the text says why."""


class WorkingDirectory:
    """The folder in which the model's file tools work.

    Args:
        root: The folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))

    def resolved(self, text: object, base: str | None = None) -> Path:
        """The file that a tool would open for this path, symbolic links followed.

        Args:
            text: The path, as the model gave it.
            base: Where relative paths start; None takes the folder itself.

        Raises:
            PathRefusedError: It is outside of the folder, or private.
        """
        if not isinstance(text, str) or not text.strip() or "\0" in text:
            raise PathRefusedError("that is no path")
        if text.lstrip().startswith("~"):
            raise PathRefusedError(f"{text!r} starts at a home folder; name it by its folders")
        path = Path(os.path.realpath(Path(base or self.root) / text))
        if not path.is_relative_to(self.root):
            raise PathRefusedError(f"{text!r} is outside of the working directory {self.root}")
        self._refuse_private(path)
        return path

    def check_pattern(self, pattern: object) -> None:
        """Refuse a pattern of file names that begins or climbs out of the folder.

        Raises:
            PathRefusedError: It does.
        """
        if not isinstance(pattern, str) or "\0" in pattern:
            raise PathRefusedError("that is no pattern of file names")
        if pattern.lstrip().startswith(("/", "~", "\\")) or _CLIMBS.search(pattern):
            raise PathRefusedError(
                f"the pattern {pattern!r} leaves the working directory; give one that starts in it"
            )

    def _refuse_private(self, path: Path) -> None:
        for part in path.relative_to(self.root).parts:
            name = part.casefold()
            if name.startswith(".env") or name == ".holodeck":
                raise PathRefusedError(PRIVATE)
