"""Asking whoever chats whether a tool call may run."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TextIO

import click

from holodeck_backend_claude.chat.interrupts import Interrupts
from holodeck_backend_claude.chat.printable import on_one_line, printable
from holodeck_backend_claude.contract import PermissionRequest
from holodeck_backend_claude.redaction import mask_remembered_secrets

_LONGEST = 2_000  # characters of one argument
# Signs that are not seen, or put what follows in another order than it is run.
_UNSEEN = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_ANSWERS = {"y": "yes", "yes": "yes", "n": "no", "no": "no", "a": "always", "always": "always"}


class PermissionPrompt:
    """Shows a call and takes the answer; Ctrl-C, Ctrl-D and an empty line mean no.

    Args:
        interrupts: Tells the reading of Ctrl-C.
        notes: Where the question is shown.
        begin_line: Ends the line that is being written to.
    """

    def __init__(
        self, interrupts: Interrupts, notes: TextIO, begin_line: Callable[[], None]
    ) -> None:
        self._interrupts = interrupts
        self._notes = notes
        self._begin_line = begin_line
        self._always: set[str] = set()

    def __call__(self, request: PermissionRequest) -> bool:
        """Whether the call may run."""
        if request.name in self._always:
            return True
        self._begin_line()
        name = on_one_line(request.name)
        self._say(f"{name} wants to run: {on_one_line(request.reason)}\n")
        self._say(_shown(request.arguments))
        _forget_what_was_typed()
        while (answer := self._read(name)) is None:
            self._say("Please answer y, n or a.\n")
        if answer == "always":
            self._always.add(request.name)
        return answer != "no"

    def _read(self, name: str) -> str | None:
        self._say(f"Allow it? [y]es, [n]o, [a]lways allow {name} in this chat: ")
        try:
            line = self._interrupts.reading(sys.stdin.readline)
        except KeyboardInterrupt:
            self._say("\n")
            return "no"
        return _ANSWERS.get(line.strip().casefold()) if line.strip() else "no"

    def _say(self, text: str) -> None:
        click.echo(printable(text, self._notes), nl=False, file=self._notes)
        self._notes.flush()


def _shown(arguments: Mapping[str, Any]) -> str:
    """One line for each argument, and more for a text of several lines.

    Each is shortened for itself, in its middle: none hides another one, or its own end.
    """
    return "".join(f"  {on_one_line(key)}: {_value(value)}\n" for key, value in arguments.items())


def _value(value: object) -> str:
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, default=str)
    text = _UNSEEN.sub("�", mask_remembered_secrets(value))
    if len(text) > _LONGEST:
        half = _LONGEST // 2
        left_out = f"\n… ({len(text) - 2 * half} more characters, NOT SHOWN) …\n"
        text = text[:half] + left_out + text[-half:]
    return text.replace("\n", "\n    ")


def _forget_what_was_typed() -> None:
    """What was typed before the question was shown is no answer to it."""
    with suppress(ImportError):
        import termios

        with suppress(OSError, ValueError, termios.error):
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
