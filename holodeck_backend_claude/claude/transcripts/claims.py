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

    Attributes:
        folder: As given.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._held: dict[Name, int] = {}

    def take(self, name: Name) -> bool:
        """Claim a name.

        Returns:
            False where another owner has it.

        Raises:
            OSError: The lock file cannot be made.
        """
        if name not in self._held and sys.platform != "win32":
            descriptor = self._lock(self._path(name))
            if descriptor is None:
                return False
            self._held[name] = descriptor
        return True

    def keep(self) -> bool:
        """Claim again what is held, where its lock file was removed: others do not see it.

        Returns:
            False where another owner took something meanwhile.

        Raises:
            OSError: The lock file cannot be made.
        """
        for name, descriptor in tuple(self._held.items()):
            if not _is_at(self._path(name), descriptor):
                again = self._lock(self._path(name))
                if again is None:
                    return False
                os.close(descriptor)
                self._held[name] = again
        return True

    def _lock(self, path: Path) -> int | None:
        """The descriptor of a lock file that is ours alone; None where it is somebody else's."""
        while True:
            make_private(self.folder)
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except FileNotFoundError:
                continue  # the last owner removed the folder between our two steps
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return None
            if _is_at(path, descriptor):
                return descriptor
            os.close(descriptor)  # its owner removed the file meanwhile

    def drop(self, name: Name) -> None:
        """Give a name up; nothing happens where it is not held."""
        descriptor = self._held.pop(name, None)
        if descriptor is None:
            return
        if _is_at(self._path(name), descriptor):  # or it is that of another owner
            with contextlib.suppress(OSError):
                self._path(name).unlink()
        os.close(descriptor)

    def drop_all(self) -> None:
        """Give up everything."""
        for name in tuple(self._held):
            self.drop(name)
        with contextlib.suppress(OSError):
            self.folder.rmdir()  # the last one closes the door

    def _path(self, name: Name) -> Path:
        return self.folder / hashlib.sha256("\0".join(name).encode()).hexdigest()[:32]


def make_private(folder: Path) -> None:
    """Make a folder and those above it that are missing, for their owner alone."""
    for each in [*reversed(folder.parents), folder]:
        if not each.is_dir():
            each.mkdir(mode=0o700, exist_ok=True)


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False
