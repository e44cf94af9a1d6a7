"""Files that go along with a message: read, recognised by their content, bounded, or refused."""

from __future__ import annotations

from holodeck_backend_claude.input_files.reading import (
    InputFileError,
    check_takes_files,
    read_files,
)

__all__ = ["InputFileError", "check_takes_files", "read_files"]
