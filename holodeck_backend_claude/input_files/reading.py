"""What may go along with a message: images, PDFs and texts, within what models' APIs take.

A file is what its content says it is, whatever its name ends in.
"""

from __future__ import annotations

import inspect
import os
import re
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from holodeck_backend_claude.contract import FileInput, HoloDeckError, InputFile
from holodeck_backend_claude.input_files.image_sizes import size_of

MAX_FILES = 20
"""From the 21st image on, the Messages API takes smaller images only."""
MAX_IMAGE_BYTES = 5 * 1024 * 1024 * 3 // 4
"""The Messages API takes 5 MiB in base64, which is four characters for three bytes."""
MAX_IMAGE_PIXELS = 8_000
"""The Messages API refuses an image that is wider or higher."""
MAX_PDF_BYTES = 22_500_000
MAX_TEXT_BYTES = 1_000_000
MAX_TOTAL_BYTES = 22_500_000
"""30 MB in base64: a request may have 32 MB, and the conversation is in it too."""

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)
# Named where they are refused, because people do try them.
_OTHER_KINDS = (
    (b"PK\x03\x04", "a ZIP archive, as .docx, .xlsx and .pptx are; save it as PDF"),
    (b"\xd0\xcf\x11\xe0", "an old Office document; save it as PDF"),
    (b"II*\x00", "a TIFF image; save it as PNG"),
    (b"MM\x00*", "a TIFF image; save it as PNG"),
    (b"BM", "a BMP image; save it as PNG"),
    (b"\x1f\x8b", "a gzip archive; unpack it"),
)
_HEIF = re.compile(rb"....ftyp(?:heic|heix|mif1|msf1|hevc|avif)", re.DOTALL)
_ENCRYPTED = re.compile(rb"/Encrypt(?:\s+\d+\s+\d+\s+R\b|\s*<<)")
_TAKEN = "images (PNG, JPEG, GIF, WebP), PDFs and UTF-8 texts"


class InputFileError(HoloDeckError, ValueError):
    """A file that cannot go along with a message; the text names it and says why."""


def read_files(files: Sequence[FileInput]) -> tuple[InputFile, ...]:
    """Read files and check them; blocks while it reads.

    Args:
        files: Paths, or files that were read before.

    Raises:
        InputFileError: One is missing, unreadable, too large, or of a kind that no model takes.
    """
    if isinstance(files, str | bytes | os.PathLike | InputFile):
        raise InputFileError("files is a list of paths, also where there is one only")
    if len(files) > MAX_FILES:
        raise InputFileError(f"{len(files)} files are too many: {MAX_FILES} may go with a message")
    ready = tuple(_ready(file) for file in files)
    total = sum(len(file.data) for file in ready)
    if total > MAX_TOTAL_BYTES:
        raise InputFileError(
            f"the files are {_mb(total)} together, and {_mb(MAX_TOTAL_BYTES)} may go with a "
            f"message; send fewer at once"
        )
    return ready


def check_takes_files(function: Callable[..., object], owner: str) -> None:
    """Refuse files where a backend was written before there were any.

    Args:
        function: Its ``invoke_once``, ``stream`` or ``send``.
        owner: Whose it is, for the message.

    Raises:
        InputFileError: It does not take them.
    """
    parameters = inspect.signature(function).parameters.values()
    if not any(p.name == "files" or p.kind is p.VAR_KEYWORD for p in parameters):
        raise InputFileError(f"{owner} takes no files; send the message without them")


def _ready(file: FileInput) -> InputFile:
    if isinstance(file, InputFile):
        return _checked(file.name, file.data, file.media_type)
    path = Path(file)
    return _checked(path.name, _bytes(path), None)


def _bytes(path: Path) -> bytes:
    try:
        mode = path.stat().st_mode
        data = _beginning(path) if stat.S_ISREG(mode) else None
    except FileNotFoundError:
        raise InputFileError(f"there is no file {path}") from None
    except OSError as cause:
        raise InputFileError(f"{path} cannot be read: {cause.strerror or cause}") from None
    except ValueError as cause:  # a NUL byte in the path itself
        raise InputFileError(f"{str(path)!r} cannot be read: {cause}") from None
    if data is None:
        raise InputFileError(f"{path} is {'a folder' if stat.S_ISDIR(mode) else 'no regular file'}")
    return data


def _beginning(path: Path) -> bytes:
    """What a file holds, up to a byte more than is allowed."""
    with path.open("rb") as stream:
        return stream.read(MAX_TOTAL_BYTES + 1)


def _checked(name: str, data: bytes, said: str | None) -> InputFile:
    if not data:
        raise InputFileError(f"{name} is empty")
    media_type = _media_type(name, data)
    if said is not None and said != media_type and not _both_are_text(said, media_type):
        raise InputFileError(f"{name} is {media_type}, and not {said}")
    if media_type == "text/plain":
        return _text(name, data)
    if media_type == "application/pdf":
        _check_pdf(name, data)
    else:
        _check_image(name, data, media_type)
    return InputFile(name, media_type, data)


def _media_type(name: str, data: bytes) -> str:
    for magic, media_type in _MAGIC:
        if data.startswith(magic):
            return media_type
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    for magic, kind in _OTHER_KINDS:
        if data.startswith(magic) and b"\x00" in data[:1_000]:
            raise InputFileError(f"{name} is {kind}")
    if _HEIF.match(data):
        raise InputFileError(f"{name} is a HEIF image; save it as JPEG")
    return "text/plain"


def _both_are_text(*media_types: str) -> bool:
    return all(kind.startswith("text/") or kind == "application/json" for kind in media_types)


def _text(name: str, data: bytes) -> InputFile:
    _check_size(name, len(data), MAX_TEXT_BYTES)
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        raise InputFileError(f"{name} is of no kind that a model takes: {_TAKEN} are") from None
    if "\x00" in text:
        raise InputFileError(f"{name} is of no kind that a model takes: {_TAKEN} are")
    if not text.strip():
        raise InputFileError(f"{name} is empty")
    return InputFile(name, "text/plain", text.encode())


def _check_pdf(name: str, data: bytes) -> None:
    _check_size(name, len(data), MAX_PDF_BYTES)
    if _ENCRYPTED.search(data):
        raise InputFileError(f"{name} is an encrypted PDF, which no model can read; save it open")


def _check_image(name: str, data: bytes, media_type: str) -> None:
    _check_size(name, len(data), MAX_IMAGE_BYTES)
    size = size_of(data, media_type)
    if size is None:
        raise InputFileError(f"{name} is a damaged {media_type}: it does not say how large it is")
    if max(size) > MAX_IMAGE_PIXELS:
        raise InputFileError(
            f"{name} has {size[0]} x {size[1]} pixels, and {MAX_IMAGE_PIXELS} are taken each way; "
            f"make it smaller"
        )


def _check_size(name: str, size: int, limit: int) -> None:
    if size > limit:
        raise InputFileError(f"{name} is larger than {_mb(limit)}; make it smaller")


def _mb(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB"
