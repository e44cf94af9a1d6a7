"""A line of progress on the terminal while tools open, and none where there is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from holodeck_backend_claude.contract import ShowProgress

_WIDTH = 24
_ERASE_LINE = "\r\x1b[K"


@contextmanager
def progress_line() -> Iterator[ShowProgress | None]:
    """Yield ``progress(label, done, total)``; None where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    lock = Lock()
    over = False

    def show(label: str, done: int, total: int) -> None:
        with lock:
            if over:  # what goes on in the background has no line of its own
                return
            text = "" if done >= total else f"{bar(done, total)} {label}"
            sys.stderr.write(f"{_ERASE_LINE}{text}")
            sys.stderr.flush()

    try:
        yield show
    finally:
        with lock:
            over = True
            sys.stderr.write(_ERASE_LINE)
            sys.stderr.flush()


def bar(done: int, total: int) -> str:
    """``[######      ] 12/24``."""
    filled = _WIDTH * min(max(done, 0), total) // total if total > 0 else 0
    return f"[{'#' * filled}{' ' * (_WIDTH - filled)}] {done}/{total}"
