"""Files that go along with a message, as Semantic Kernel takes them: images and texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holodeck_backend_claude.contract import FileInput, InputFile
from holodeck_backend_claude.encodable import encodable
from holodeck_backend_claude.input_files import InputFileError, read_files

if TYPE_CHECKING:
    from holodeck_backend_claude.sk._imports import ImageContent, TextContent


def read_taken(files: Sequence[FileInput]) -> tuple[InputFile, ...]:
    """Read the files; blocks while it does.

    Raises:
        InputFileError: One cannot be sent, or is a PDF, which Semantic Kernel has no content for.
    """
    ready = read_files(files)
    for file in ready:
        if file.media_type == "application/pdf":
            raise InputFileError(
                f"{file.name} is a PDF, and the Semantic Kernel backend sends images and texts "
                f"only; send its text, or run the agent on Claude"
            )
    return ready


def file_item(file: InputFile) -> ImageContent | TextContent:
    """The content item of one file."""
    from holodeck_backend_claude.sk._imports import ImageContent, TextContent

    if file.media_type.startswith("image/"):
        return ImageContent(data=file.data, data_format="base64", mime_type=file.media_type)
    text = encodable(file.data.decode())
    return TextContent(text=f"<file name={file.name!r}>\n{text}\n</file>")
