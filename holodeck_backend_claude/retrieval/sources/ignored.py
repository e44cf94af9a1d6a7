"""What ``.gitignore`` files at the root of a source and below leave out."""

from __future__ import annotations

from pathlib import Path

from pathspec import GitIgnoreSpec

IGNORE_FILE = ".gitignore"
LARGEST_IGNORE_FILE = 1_000_000


class IgnoreRules:
    """The rules of the folders on the way from the root; those further down count first."""

    def __init__(self) -> None:
        self._specs: dict[str, GitIgnoreSpec] = {}

    def enter(self, folder: Path, prefix: str) -> None:
        """Take the rules of a folder, where it has any.

        Args:
            folder: The folder.
            prefix: Its path relative to the root, with ``/`` at its end; empty for the root.
        """
        try:
            with (folder / IGNORE_FILE).open(encoding="utf-8", errors="replace") as opened:
                lines = opened.read(LARGEST_IGNORE_FILE).splitlines()
            self._specs[prefix] = GitIgnoreSpec.from_lines(lines)
        except (OSError, ValueError):  # there is none, or it is none
            return

    def leave_out(self, path: str, *, is_folder: bool) -> bool:
        """Whether a file or folder is left out.

        Args:
            path: Relative to the root.
            is_folder: Some rules are for folders only.
        """
        name = f"{path}/" if is_folder else path
        place = path
        while place:
            place = place.rpartition("/")[0]
            prefix = f"{place}/" if place else ""
            spec = self._specs.get(prefix)
            if spec is not None:
                said = spec.check_file(name[len(prefix) :]).include
                if said is not None:
                    return said
        return False
