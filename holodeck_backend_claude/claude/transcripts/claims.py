"""Claims on conversations as locked files: the kernel lets go of them with their program."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from pathlib import Path
from typing import TypeAlias

if sys.platform != "win32":  # there, nothing keeps a second program from a conversation
    import fcntl

Name: TypeAlias = tuple[str, ...]


class FileClaims:
    """The claims of one owner; another owner can be in the same program.

    Args:
        folder: Where the lock files are; made with the first claim.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[Name, int] = {}

    def take(self, name: Name) -> bool:
        """Claim a name.

        Returns:
            False where another owner has it.

        Raises:
            OSError: The lock file cannot be made.
        """
        if name in self._held or sys.platform == "win32":
            return True
        path = self._path(name)
        while True:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except FileNotFoundError:
                continue  # the last owner removed the folder between our two steps
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return False
            if _is_at(path, descriptor):
                self._held[name] = descriptor
                return True
            os.close(descriptor)  # its owner removed the file meanwhile

    def drop(self, name: Name) -> None:
        """Give a name up; nothing happens where it is not held."""
        descriptor = self._held.pop(name, None)
        if descriptor is not None:
            with contextlib.suppress(OSError):
                self._path(name).unlink()
            os.close(descriptor)

    def drop_all(self) -> None:
        """Give up everything."""
        for name in tuple(self._held):
            self.drop(name)
        with contextlib.suppress(OSError):
            self._folder.rmdir()  # the last one closes the door

    def _path(self, name: Name) -> Path:
        return self._folder / hashlib.sha256("\0".join(name).encode()).hexdigest()[:32]


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False
