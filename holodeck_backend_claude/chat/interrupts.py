"""What Ctrl-C does in a chat: it ends the reading of a line, or stops a turn, and nothing else.

Without this, Python raises KeyboardInterrupt wherever the main thread happens to be, and a key
pressed a moment early or late would end the chat.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """Handles SIGINT for as long as the block lasts.

    Args:
        stop_turn: Stops the turn that runs, if there is one; called in a signal handler.
    """

    def __init__(self, stop_turn: Callable[[], object]) -> None:
        self._stop_turn = stop_turn
        self._is_reading = False
        self._before: Any = None

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGINT, self._before)

    def reading(self, read: Callable[[], str]) -> str:
        """Call ``read``, which waits for the user.

        Raises:
            KeyboardInterrupt: Ctrl-C came while it waited.
        """
        try:
            self._is_reading = True
            return read()
        finally:
            self._is_reading = False

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self._is_reading:
            self._is_reading = False
            raise KeyboardInterrupt
        self._stop_turn()
