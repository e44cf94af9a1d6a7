"""The private folder and the process group of one Claude Code process."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path

from holodeck_backend_claude.claude import launcher


class ProcessFolder:
    """A folder that only its owner can read and that goes away with the process.

    It stands in for the home, the configuration and the temporary folder of one Claude Code
    process, and holds the launcher, the system prompt (so that it is on no command line) and the
    process id. Whatever the process writes is gone when :meth:`remove` has run, which also
    happens at exit and when the object is forgotten.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="holodeck-claude-"))
        self.remove = weakref.finalize(self, _remove, str(self.path))
        for name in ("tmp", "config", "work"):
            (self.path / name).mkdir(mode=0o700)

    @property
    def working_directory(self) -> Path:
        """Where the process runs: an empty folder."""
        return self.path / "work"

    def write_system_prompt(self, text: str) -> Path:
        """Put the system prompt into a file and return its path."""
        path = self.path / "system-prompt.txt"
        path.write_text(text, encoding="utf-8")
        return path

    def write_launcher(self, program: str, names: Iterable[str]) -> Path:
        """Write the executable that the SDK starts in place of ``program``.

        Args:
            program: The path of the ``claude`` program.
            names: The variables the program may see.
        """
        words = [sys.executable, "-I", "-S", launcher.__file__, ",".join(sorted(names))]
        words += [str(self._pid_file), program]
        path = self.path / "claude"
        path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
        path.chmod(0o700)
        return path

    @property
    def _pid_file(self) -> Path:
        return self.path / "pid"

    def pid(self) -> int | None:
        """The process id, which is also that of its group; None before the launcher ran."""
        try:
            return int(self._pid_file.read_text())
        except (OSError, ValueError):
            return None

    def kill(self) -> None:
        """End the whole process group at once; nothing happens if it is gone."""
        pid = self.pid()
        if pid is None:
            return
        try:
            os.killpg(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return


def _remove(path: str) -> None:
    shutil.rmtree(path, ignore_errors=True)
