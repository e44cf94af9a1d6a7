"""One run at a time for each index, over all processes of this machine.

There are two kinds of runs: one brings the files up to date, one makes vectors, which may take
long. The second holds its own lock, and that of the files for each of its changes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

if sys.platform != "win32":  # there, the transactions of the database alone keep it right
    import fcntl

_SECONDS_BETWEEN_TRIES = 0.1


def files_lock(index: Path) -> Path:
    """The lock of whoever changes an index file."""
    return index.with_suffix(".lock")


def vectors_lock(index: Path) -> Path:
    """The lock of whoever makes the vectors of an index file."""
    return index.with_name("vectors.lock")


@contextlib.asynccontextmanager
async def exclusive(path: Path, waiting: Callable[[], None]) -> AsyncIterator[None]:
    """Hold the lock file ``path``, which ends with the process at the latest.

    Args:
        path: Made where it is missing; it stays.
        waiting: Called once if another run has to be waited for.
    """
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _try(descriptor):
            waiting()
            # Polled: no event tells that another process ended, and this wait can be cancelled.
            while not _try(descriptor):  # noqa: ASYNC110
                await asyncio.sleep(_SECONDS_BETWEEN_TRIES)
        yield
    finally:
        os.close(descriptor)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
