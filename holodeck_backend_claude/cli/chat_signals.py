"""Signals to a chat: they end it in order, and end it at all where a tool blocks the event loop."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import click

from holodeck_backend_claude.cli.ending import end_now
from holodeck_backend_claude.cli.signals import (
    BLOCKED,
    end_unless_noticed,
    handled_by,
    unless_noticed,
)

if TYPE_CHECKING:
    from holodeck_backend_claude.chat import LiveSession


def ended_by_signals(live: LiveSession) -> AbstractContextManager[None]:
    """Let SIGTERM, SIGHUP, and SIGINT before the first prompt, end the chat as any exit does.

    A second one ends it at once.
    """
    return handled_by(_Leave(live))


class _Leave:
    def __init__(self, live: LiveSession) -> None:
        self._live = live
        self._leaving = False

    def __call__(self, number: int, _frame: object) -> None:
        if self._leaving:
            end_now(128 + number, "a second signal came before they were closed")
        self._leaving = True
        noticed = end_unless_noticed(128 + number)
        if not self._live.soon(noticed):
            noticed()
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(128 + number)


class TurnStop:
    """What Ctrl-C does in a turn: it stops the turn, or says that nothing can.

    Args:
        live: Whose turn.
    """

    def __init__(self, live: LiveSession) -> None:
        self._live = live
        self._told = False
        self._noticed: Callable[[], None] | None = None

    def __call__(self) -> None:
        """Stop the turn; once it was said that it cannot be stopped, end the chat."""
        if self._told:
            end_now(128 + signal.SIGINT, BLOCKED)
        if self._noticed is None:
            self._noticed = unless_noticed(self._tell)
            if not self._live.soon(self._stopped):
                self._stopped()
        self._live.stop()

    def _stopped(self) -> None:
        if self._noticed is not None:
            self._noticed()
        self._noticed, self._told = None, False

    def _tell(self) -> None:
        self._told = True
        click.echo(f"  {BLOCKED}; Ctrl-C again ends the chat", err=True)
