"""The private folder and the process group of one Claude Code process."""

from __future__ import annotations

import fcntl
import functools
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
import weakref
from collections.abc import Iterable
from pathlib import Path

from holodeck_backend_claude.claude.process import launcher
from holodeck_backend_claude.claude.process.family import end_family
from holodeck_backend_claude.processes import Descendant, descendants

_PREFIX = "holodeck-claude-"
_LOCK = "lock"
_DRAFT = "lock.new"
_GONE_SECONDS = 1.0  # until a process that was killed is gone
_in_use: weakref.WeakSet[PrivateFolder] = weakref.WeakSet()


class PrivateFolder:
    """A folder that only its owner can read and that goes away with the process.

    It stands in for the home, the configuration and the temporary folder of one Claude Code
    process, and holds the launcher, the system prompt (so that it is on no command line) and the
    process id. Whatever the process writes is gone when :meth:`remove` has run, which also
    happens at exit and when the object is forgotten. What a killed program left behind is removed
    by the next one. A child that this program forks has a copy of the object, but the folder is
    not its own: there, :meth:`remove` leaves it as it is.
    """

    def __init__(self) -> None:
        parent = tempfile.gettempdir()
        remove_abandoned(parent)
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        try:
            lock = _lock(self.path)
        except OSError:
            (self.path / _DRAFT).unlink(missing_ok=True)
            self.path.rmdir()  # needs no descriptor, of which there may be no more
            raise
        self._owner = os.getpid()
        self.remove = weakref.finalize(self, _remove, str(self.path), lock, self._owner)
        _in_use.add(self)
        for name in ("tmp", "config", "work"):
            (self.path / name).mkdir(mode=0o700)

    @property
    def configuration(self) -> Path:
        """Where the process keeps its settings and transcripts."""
        return self.path / "config"

    @property
    def working_directory(self) -> Path:
        """Where the process runs: an empty folder."""
        return self.path / "work"

    def write_system_prompt(self, text: str) -> Path:
        """Put the system prompt into a file and return its path."""
        path = self.path / "system-prompt.txt"
        path.write_text(text, encoding="utf-8")
        return path

    def write_launcher(
        self, program: str, names: Iterable[str], *, version: str | None = None
    ) -> Path:
        """Write the executable that the SDK starts in place of ``program``.

        Args:
            program: The path of the ``claude`` program.
            names: The variables the program may see.
            version: What the program answers to ``-v``, so that it need not be started for
                that; None has it answer itself.
        """
        words = [sys.executable, "-I", "-S", launcher.__file__, ",".join(sorted(names))]
        words += [str(self._pid_file), program]
        path = self.path / "claude"
        lines = ["#!/bin/sh", f'exec {shlex.join(words)} "$@"', ""]
        if version is not None:
            # Whoever asks ends the process then; one that ended before is a warning of asyncio.
            lines.insert(1, f'[ "$*" = -v ] && echo {shlex.quote(version)} && exec sleep 1')
        path.write_text("\n".join(lines), encoding="utf-8")
        path.chmod(0o700)
        return path

    @property
    def _pid_file(self) -> Path:
        return self.path / "pid"

    runs_commands = False  # whether the process can start others
    runs_servers = False  # whether it starts MCP servers

    def pid(self) -> int | None:
        """The process id, which is also that of its group; None before the launcher ran."""
        try:
            return int(self._pid_file.read_text())
        except (OSError, ValueError):
            return None

    @property
    def is_own(self) -> bool:
        """Whether it was made by this program, and not by the one that this was forked from."""
        return os.getpid() == self._owner

    def forget_process(self) -> None:
        """After its end: its id may soon be another one's."""
        self._pid_file.unlink(missing_ok=True)

    def is_running(self) -> bool:
        """Whether the process runs."""
        pid = self.pid()
        if pid is None:
            return False
        try:
            if hasattr(os, "waitid"):  # not on every macOS; it also tells what nobody took note of
                flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
                return os.waitid(os.P_PID, pid, flags) is None
            os.kill(pid, 0)
        except OSError:
            return False
        return True

    def kill(self) -> None:
        """End the whole process group at once; nothing happens if it is gone."""
        self.end_family()
        for each in self.servers():
            each.kill()
        pid = self.pid()
        if pid is None:
            return
        try:
            os.killpg(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return
        self.end_family()

    def abandon(self) -> None:
        """End the process group and remove the folder, where nothing waits for either."""
        self.kill()
        until = time.monotonic() + _GONE_SECONDS
        while self.is_running() and time.monotonic() < until:
            time.sleep(0.001)  # what it may still write would be left
        self.remove()

    def end_family(self) -> None:
        """End what the process started, where it can start anything; the process itself stays."""
        if self.runs_commands:
            end_family(self.pid() if self.is_running() else None, self.path)

    def servers(self) -> list[Descendant]:
        """The MCP servers that run, and what they started."""
        pid = self.pid() if self.runs_servers and self.is_running() else None
        return [] if pid is None else descendants(pid)


def end_all() -> None:
    """Kill every Claude Code process and remove its folder, where no exit handler will run."""
    for folder in list(_in_use):
        if folder.is_own:
            folder.abandon()


def _remove(path: str, lock: int, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
    os.close(lock)


def _lock(folder: Path) -> int:
    """Mark a folder as in use for as long as this program lives; returns the descriptor."""
    draft = folder / _DRAFT
    descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    draft.rename(folder / _LOCK)  # under its name it is locked from the first moment on
    return descriptor


@functools.cache
def remove_abandoned(parent: str) -> None:
    """Remove the folders of programs that were killed before they could; once per program."""
    for lock in Path(parent).glob(f"{_PREFIX}*/{_LOCK}"):
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            continue  # somebody else's, or just gone
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)
        except OSError:
            continue  # in use
        finally:
            os.close(descriptor)
