"""How a turn looks: the answer as it is written, and in between, dimmed, what the agent does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TextIO

import click

from holodeck_backend_claude.chat.denials import denial_lines
from holodeck_backend_claude.chat.printable import print_error, printable
from holodeck_backend_claude.contract import (
    ExecutionResult,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolEnd,
    ToolStart,
    TurnEnd,
    TurnEvent,
)
from holodeck_backend_claude.outcomes import failure_text

_LONGEST = 100


class TurnDisplay:
    """Shows the events of turns: answers on one stream, everything else on another.

    Args:
        answers: Gets the text of the answers, as it comes, and nothing else.
        notes: Gets tool calls, retries and errors, one line each.
    """

    def __init__(self, answers: TextIO, notes: TextIO) -> None:
        self._answers = answers
        self._notes = notes
        self._shows_thinking = notes.isatty()
        self._at_line_start = True
        self._in_thought = False
        self._has_text = False

    def show(self, event: TurnEvent) -> None:
        """Show one event."""
        match event:
            case TextDelta(text=text):
                self._answer(text)
            case ThinkingDelta(text=text):
                self._thought(text)
            case ToolStart(name=name, arguments=arguments):
                self._note(f"{name}({_arguments(arguments)})")
            case ToolEnd(name=name, result=result, is_error=is_error):
                self._note(f"{name} {'failed: ' if is_error else 'gave: '}{_first_line(result)}")
            case Retrying(reason=reason, delay_seconds=seconds, attempt=attempt):
                self._note(f"{reason}; trying again in {seconds:g} s (attempt {attempt})")
            case TurnEnd(result=result):
                self._end(result)

    def begin_line(self) -> None:
        """End the line that is being written, for somebody else's."""
        self._new_line()

    def error(self, text: str) -> None:
        """Show why there is no answer, or no complete one."""
        self._new_line()
        print_error(text, self._notes)

    def stopped(self) -> None:
        """Show that the user stopped the turn."""
        self._note("stopped")
        self._has_text = False

    def _end(self, result: ExecutionResult) -> None:
        if result.response and not self._has_text:  # it came in one piece
            self._answer(result.response)
        self._new_line()
        self._has_text = False
        for line in denial_lines(result.permission_denials):
            self._note(line)
        if result.is_error:
            self.error(failure_text(result))
        for warning in result.warnings:
            self._note(f"Warning: {warning}")

    def _answer(self, text: str) -> None:
        if not text:
            return
        if self._in_thought:
            self._new_line()
        self._write(self._answers, printable(text, self._answers), text)
        self._has_text = True

    def _thought(self, text: str) -> None:
        if not self._shows_thinking or not text:
            return
        if not self._in_thought:
            self._new_line()
        shown = click.style(printable(text, self._notes), dim=True)
        self._write(self._notes, shown, text)
        self._in_thought = True

    def _note(self, text: str) -> None:
        self._new_line()
        click.secho(f"  {printable(text, self._notes)}", dim=True, file=self._notes)

    def _new_line(self) -> None:
        """End the line that text is being written to."""
        if not self._at_line_start:
            stream = self._notes if self._in_thought else self._answers
            stream.write("\n")
            stream.flush()
        self._at_line_start, self._in_thought = True, False

    def _write(self, stream: TextIO, shown: str, text: str) -> None:
        stream.write(shown)
        stream.flush()
        self._at_line_start = text.endswith("\n")


def _arguments(arguments: Mapping[str, Any]) -> str:
    pairs = (
        f"{name}={json.dumps(value, ensure_ascii=False, default=str)}"
        for name, value in arguments.items()
    )
    return _cut(", ".join(pairs))


def _first_line(text: str) -> str:
    lines = text.strip().splitlines() or ["nothing"]
    more = f" (and {len(lines) - 1} more lines)" if len(lines) > 1 else ""
    return f"{_cut(lines[0])}{more}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
