"""The bytes of one document, within bounds."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from holodeck_backend_claude.retrieval.documents.formats import UnreadableError
from holodeck_backend_claude.retrieval.sources.found import SourceFile

LARGEST_FILE = 16 * 1024 * 1024
"""Bytes of one document; cutting it takes about forty times as much memory."""

NOT_REGULAR = "it is not a regular file"


def read_bytes(file: SourceFile) -> bytes:
    """The bytes of a document.

    Raises:
        UnreadableError: It cannot be read, or is larger than :data:`LARGEST_FILE`.
    """
    data = b"" if file.size > LARGEST_FILE else _beginning(file.real_path)
    if max(len(data), file.size) > LARGEST_FILE:
        raise UnreadableError(f"it is larger than {LARGEST_FILE >> 20} MiB; split it")
    return data


def why_unreadable(cause: BaseException) -> str:
    """What an error of the file system says, in words for the user."""
    if isinstance(cause, FileNotFoundError):
        return "it does not exist"
    if isinstance(cause, OSError) and cause.strerror:
        return f"it cannot be read ({cause.strerror.lower()})"
    return f"it cannot be read ({cause})"


def _beginning(path: Path) -> bytes:
    """What a file holds, up to a byte more than is allowed; it may have changed since it was found.

    Not blocking, because opening a pipe would wait for somebody to write into it.
    """
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise UnreadableError(NOT_REGULAR)
            return opened.read(LARGEST_FILE + 1)
    except OSError as cause:
        raise UnreadableError(why_unreadable(cause)) from cause
