"""Text of others on a terminal: shown as it is, but for what would control the terminal."""

from __future__ import annotations

import re
from typing import TextIO

import click

# C0 and C1 controls but tab and line feed: escape sequences begin with one of them.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_BREAK = re.compile("[\n\u2028\u2029]")


def printable(text: str, stream: TextIO) -> str:
    """The text for this stream: without control characters on a terminal, and encodable."""
    if stream.isatty():
        text = without_controls(text)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, errors="replace").decode(encoding)


def without_controls(text: str) -> str:
    """The text with each control character, but for tab and line feed, replaced by a mark."""
    return _CONTROL.sub("�", text.replace("\r\n", "\n"))


def on_one_line(text: str) -> str:
    """A name of others as a part of a line of ours: no control characters, no line breaks."""
    return _BREAK.sub("�", without_controls(text))


def print_error(text: str, stream: TextIO, *, label: str = "Error") -> None:
    """The line that says what went wrong, its label in red on a terminal."""
    click.secho(f"{label}: ", fg="red", bold=True, nl=False, file=stream)
    click.echo(printable(text, stream), file=stream)
