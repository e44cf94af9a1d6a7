"""Office documents are ZIP archives: one that would unpack to very much is refused."""

from __future__ import annotations

import io
import zipfile

from holodeck_backend_claude.retrieval.documents.formats import UnreadableError

MOST_BYTES = 256 * 1024 * 1024
"""Of all parts of a document, unpacked."""


def check_archive(data: bytes) -> None:
    """Look at an archive without unpacking it.

    Raises:
        UnreadableError: It is none, is protected by a password, or unpacks to too much.
    """
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise UnreadableError("it is protected by a password, or an Office document of before 2007")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(part.file_size for part in archive.infolist())
    except zipfile.BadZipFile as cause:
        raise UnreadableError("it is damaged, or no Office document") from cause
    if size > MOST_BYTES:
        raise UnreadableError(f"it unpacks to more than {MOST_BYTES >> 20} MiB")
