"""The width and height that the header of an image names; None where it is no sound image."""

from __future__ import annotations

import struct
from typing import TypeAlias

Size: TypeAlias = tuple[int, int]

# The markers of a JPEG's frame headers, which hold its size.
_JPEG_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_JPEG_BARE = frozenset({0x01, *range(0xD0, 0xD9)})  # markers without a segment


def size_of(data: bytes, media_type: str) -> Size | None:
    """The size in pixels.

    Args:
        data: The whole file.
        media_type: ``image/png``, ``image/jpeg``, ``image/gif`` or ``image/webp``.
    """
    reader = {
        "image/png": _png,
        "image/jpeg": _jpeg,
        "image/gif": _gif,
        "image/webp": _webp,
    }[media_type]
    try:
        size = reader(data)
    except (struct.error, IndexError):
        return None
    return size if size and all(size) else None


def _png(data: bytes) -> Size | None:
    if data[12:16] != b"IHDR":
        return None
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def _gif(data: bytes) -> Size:
    width, height = struct.unpack("<HH", data[6:10])
    return width, height


def _jpeg(data: bytes) -> Size | None:
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # a byte to fill up
            at += 1
        elif marker in _JPEG_BARE:
            at += 2
        elif marker in _JPEG_FRAMES:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None


def _webp(data: bytes) -> Size | None:
    kind, body = data[12:16], data[20:]
    if kind == b"VP8X":
        return 1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little")
    if kind == b"VP8L":
        (bits,) = struct.unpack("<I", body[1:5])
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", body[6:10])
        return width & 0x3FFF, height & 0x3FFF
    return None
