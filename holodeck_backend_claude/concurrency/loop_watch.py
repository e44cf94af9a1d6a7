"""Names the tool call that blocks the event loop: a thread that looks for as long as calls run.

Nothing else can tell: while the loop is blocked no time limit applies, and nobody is asked.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

log = logging.getLogger(__name__)

BLOCKED_SECONDS = 5.0
"""How long an event loop may be blocked before the log names what blocks it."""

_watches: WeakKeyDictionary[asyncio.AbstractEventLoop, _Watch] = WeakKeyDictionary()


@contextmanager
def watched_loop(label: str) -> Iterator[None]:
    """Have the running event loop watched for as long as the block lasts.

    Args:
        label: What runs in it, as the log names it: ``tool 'kb'``.
    """
    loop = asyncio.get_running_loop()
    watch = _watches.get(loop)
    if watch is None:
        watch = _watches[loop] = _Watch(loop)
        watch.thread.start()
    watch.labels.append(label)
    try:
        yield
    finally:
        watch.labels.remove(label)
        if not watch.labels:
            watch.over.set()
            _watches.pop(loop, None)


class _Watch:
    """One thread over one event loop; made and used in the loop's own thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.labels: list[str] = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run, name="holodeck-loop-watch", daemon=True)
        self._loop = loop
        self._loop_thread = threading.get_ident()

    def _run(self) -> None:
        while not self.over.wait(BLOCKED_SECONDS / 4):
            answered = threading.Event()
            asked = time.monotonic()
            try:
                self._loop.call_soon_threadsafe(answered.set)
            except RuntimeError:  # closed
                return
            if not self._answers(answered, seconds=BLOCKED_SECONDS):
                log.warning(
                    "%s has blocked the event loop for %g s, in %s: until it lets go no time limit "
                    "applies and nothing else runs; await what it waits for, or make its 'call' an "
                    "ordinary function, which runs in a thread",
                    self._culprit(), BLOCKED_SECONDS, self._place(),
                )  # fmt: skip
                self._answers(answered)
                log.warning("the event loop goes on after %.1f s", time.monotonic() - asked)

    def _answers(self, answered: threading.Event, *, seconds: float | None = None) -> bool:
        until = None if seconds is None else time.monotonic() + seconds
        while not (answered.wait(0.05) or self.over.is_set()):
            if until is not None and time.monotonic() > until:
                return False
        return True

    def _culprit(self) -> str:
        running = asyncio.current_task(self._loop)
        name = running.get_name() if running else ""
        return name if name in self.labels else f"something beside {' and '.join(self.labels)}"

    def _place(self) -> str:
        frame = sys._current_frames().get(self._loop_thread)
        if frame is None:
            return "an unknown place"
        code = frame.f_code
        return f"{code.co_qualname} ({code.co_filename}:{frame.f_lineno})"
