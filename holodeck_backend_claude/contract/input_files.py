"""Files that go along with a message."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from typing import TypeAlias


@dataclass(frozen=True)
class InputFile:
    """A file that goes along with a message.

    Attributes:
        name: What the model is told it is called.
        media_type: ``image/png``, ``image/jpeg``, ``image/gif``, ``image/webp``,
            ``application/pdf`` or ``text/plain``; its content has to agree.
        data: What is in it; text as UTF-8.
    """

    name: str
    media_type: str
    data: bytes = field(repr=False)


FileInput: TypeAlias = str | PathLike[str] | InputFile
"""The path of a file, or a file that was read before."""
