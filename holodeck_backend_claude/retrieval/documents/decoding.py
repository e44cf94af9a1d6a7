"""Bytes of a file to text: the encoding is detected, and what is not text is refused by name."""

from __future__ import annotations

import codecs
import re

_BOMS = (  # UTF-32 before UTF-16: its little-endian mark begins like that of UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DOCUMENTS = ((b"%PDF-", "a PDF"), (b"{\\rtf", "an RTF document"))  # these can be pure ASCII
_BINARIES = (
    (b"PK\x03\x04", "a ZIP archive or an Office document"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x7fELF", "an ELF program"),
    (b"MZ\x90\x00", "a Windows program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document"),
    (b"OggS", "an Ogg recording"),
    (b"ID3", "an MP3 recording"),
)
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
_HIGH_RUNS = re.compile(rb"[\x80-\xff]+")
_CONTROL_BYTES = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_MOST_CONTROLS = 0.02
_SAMPLE = 64 * 1024


class NotTextError(Exception):
    """The bytes are no text; the message says what they are, in the words of a cause."""


def decode(data: bytes) -> str:
    """The text of a file: UTF-8, UTF-16 or UTF-32, with or without mark, or Windows-1252/Latin-1.

    Line ends of every kind become a line feed.

    Raises:
        NotTextError: A binary file, broken text, or an encoding that cannot be told.
    """
    for magic, name in _DOCUMENTS:
        if data.startswith(magic):
            raise NotTextError(f"it is {name}, not text")
    text = _decode(data)
    controls = len(_CONTROLS.findall(text))
    if "\0" in text or controls > _MOST_CONTROLS * len(text):
        raise _binary(data)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _binary(data: bytes) -> NotTextError:
    return NotTextError(f"it is {_binary_name(data) or 'binary data'}, not text")


def _binary_name(data: bytes) -> str | None:
    return next((name for magic, name in _BINARIES if data.startswith(magic)), None)


def _is_mostly_utf8(data: bytes) -> bool:
    """Whether the sequences that UTF-8 allows outnumber those that it does not."""
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    return sum(char > "\x7f" for char in text) - broken > broken


def _decode(data: bytes) -> str:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _strictly(data[len(mark) :], encoding)
    if b"\0" in data:
        return _strictly(data, _utf16_without_mark(data))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as cause:
        return _western(data, cause)


def _strictly(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as cause:
        raise NotTextError(
            f"it is broken {encoding.upper()} at byte {cause.start}; save it as UTF-8"
        ) from cause


def _utf16_without_mark(data: bytes) -> str:
    """UTF-16 shows by zeros that all stand at even, or all at odd, places."""
    even, odd = data[0:_SAMPLE:2].count(0), data[1:_SAMPLE:2].count(0)
    pairs = min(len(data), _SAMPLE) // 2
    most, least = max(even, odd), min(even, odd)
    if len(data) % 2 or most < 0.2 * pairs or least > 0.02 * pairs:
        raise _binary(data)
    return "utf-16-be" if even > odd else "utf-16-le"


def _western(data: bytes, utf8: UnicodeDecodeError) -> str:
    """Windows-1252 or Latin-1, where letters beyond ASCII stand mostly alone.

    In other one-byte encodings, and in those of East Asia, they come in long runs.
    """
    if _CONTROL_BYTES.search(data) and _binary_name(data):
        raise _binary(data)
    if _is_mostly_utf8(data):
        raise NotTextError(f"it is broken UTF-8 at byte {utf8.start}; save it as UTF-8")
    runs = [len(run) for run in _HIGH_RUNS.findall(data)]
    if sum(run for run in runs if run > 2) * 2 > sum(runs):
        raise NotTextError(
            f"its encoding cannot be told (not UTF-8, see byte {utf8.start}, nor UTF-16 or "
            "Latin-1); save it as UTF-8"
        )
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return data.decode("latin-1")
