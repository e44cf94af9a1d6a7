"""What a process started, as far as the system tells: on Linux, through /proc."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_STARTED = 19
"""Where the time of the start is, counted from what comes after the name."""


@dataclass(frozen=True)
class Descendant:
    """A process that another one started, itself or through others.

    Attributes:
        pid: Its number, which another process gets one day.
        started: When it started, which tells the two apart.
    """

    pid: int
    started: int

    def kill(self) -> None:
        """End it at once; nothing happens if it is gone, or not ours."""
        if not any(each == self for each, _ in _running([_PROC / str(self.pid) / "stat"])):
            return
        try:
            os.kill(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return


def descendants(pid: int, *, child_of: int | None = None) -> list[Descendant]:
    """The running processes below a running process; those that lost their parent are not.

    Args:
        pid: The process at the top.
        child_of: Who started it; where it is somebody else's, as numbers are used again, none is
            found. None takes anybody's.
    """
    children: dict[int, list[Descendant]] = {}
    for each, parent in _running(_PROC.glob("[0-9]*/stat")):
        children.setdefault(parent, []).append(each)
    if child_of is not None and pid not in {each.pid for each in children.get(child_of, [])}:
        return []
    found: list[Descendant] = []
    left = [pid]
    while left:
        below = children.pop(left.pop(), [])
        found += below
        left += [each.pid for each in below]
    return found


def _running(stats: Iterator[Path] | list[Path]) -> Iterator[tuple[Descendant, int]]:
    """Processes, each with its parent."""
    for stat in stats:
        try:
            state, parent, *rest = stat.read_text().rsplit(")", 1)[1].split()
            found = Descendant(int(stat.parent.name), int(rest[_STARTED - 2]))
        except (OSError, IndexError, ValueError):
            continue
        if state not in ("Z", "X"):
            yield found, int(parent)
