"""Progress of a call, handed on to the event loop's thread until the call is over."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from holodeck_backend_claude.redaction import traceback_of

log = logging.getLogger(__name__)

ReportProgress: TypeAlias = Callable[[float, float | None, str], None]
"""``report_progress(done, total, message)``."""


class ProgressRelay:
    """Hands progress on to the event loop's thread until the call is over."""

    def __init__(self, report_progress: ReportProgress | None) -> None:
        self._receiver = report_progress
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def report(self, done: float, total: float | None, message: str) -> None:
        """Tell how far the call is; may be called from any thread, and never raises."""
        if threading.get_ident() == self._thread:
            self._forward(done, total, message)
            return
        with suppress(RuntimeError):  # the loop is closed: nobody watches any longer
            self._loop.call_soon_threadsafe(self._forward, done, total, message)

    def _forward(self, done: float, total: float | None, message: str) -> None:
        if self._receiver is None:
            return
        try:
            self._receiver(done, total, message)
        except Exception as error:  # noqa: BLE001 - a display that fails fails no tool
            log.warning("progress of a tool could not be shown: %s", traceback_of(error))

    def end(self) -> None:
        """Drop what a call that goes on after its end still reports."""
        self._receiver = None
