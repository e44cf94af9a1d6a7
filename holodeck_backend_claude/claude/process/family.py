"""What a Claude Code process started and left running: its command lines, and their children.

Each command line has a session and a process group of its own, so that ending the group of
Claude Code does not reach it; and what a command line leaves in the background has no parent of
ours. On Linux both are found, by their parents and by the private folder in their environment.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from holodeck_backend_claude.processes import descendants

ADOPTS = "HOLODECK_ADOPTS_ORPHANS"
"""The variable that tells the launcher to make the process the parent of what has lost its own."""

_PROC = Path("/proc")
_ROUNDS = 100
_SECONDS_BETWEEN = 0.005


def end_family(pid: int | None, folder: Path) -> None:
    """End everything that a process started, but not the process itself; never raises.

    Args:
        pid: The process, while it runs; None where it is gone.
        folder: Its private folder, which what it started has in its environment.
    """
    for _ in range(_ROUNDS):
        found = set(_below(pid)) | set(_knowing(folder))
        found -= {pid, os.getpid()}
        if not found:
            return
        for each in found:
            _kill(each)
        time.sleep(_SECONDS_BETWEEN)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _below(pid: int | None) -> Iterator[int]:
    return iter(()) if pid is None else (each.pid for each in descendants(pid))


def _knowing(folder: Path) -> Iterator[int]:
    """The processes that have the folder in their environment."""
    wanted = os.fsencode(folder)
    for environ in _PROC.glob("[0-9]*/environ"):
        try:
            if wanted in environ.read_bytes():
                yield int(environ.parent.name)
        except OSError:
            continue
