"""What the user says: lines from a terminal or a pipe."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress

from holodeck_backend_claude.chat.interrupts import Interrupts

EXIT_COMMAND = "/exit"
PROMPT = "> "


def read_messages(interrupts: Interrupts) -> Iterator[str]:
    """Yield each line that says something, until Ctrl-D, the end of the pipe, or ``/exit``.

    On a terminal, Ctrl-C throws the line away that is being typed.

    Args:
        interrupts: Tells the reading of Ctrl-C.

    Raises:
        KeyboardInterrupt: Ctrl-C while a pipe is read.
    """
    _accept_any_bytes()
    interactive = sys.stdin.isatty()
    read = _line_editor() if interactive and sys.stdout.isatty() else _plain
    while True:
        try:
            line = interrupts.reading(lambda: read(PROMPT if interactive else ""))
        except KeyboardInterrupt:
            if not interactive:
                raise
            _say(f"\n(Ctrl-D or {EXIT_COMMAND} ends the chat)\n")
            continue
        except EOFError:
            if interactive:
                _say("\n")
            return
        message = line.strip()
        if message == EXIT_COMMAND:
            return
        if message:
            yield message


def _line_editor() -> Callable[[str], str]:
    """``input``, with the editing and the history of readline where there is one."""
    with suppress(ImportError):
        importlib.import_module("readline")
    return input


def _plain(prompt: str) -> str:
    """A line of stdin, with the prompt on stderr, so that stdout holds answers only."""
    _say(prompt)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line


def _say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _accept_any_bytes() -> None:
    reconfigure = getattr(sys.stdin, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
