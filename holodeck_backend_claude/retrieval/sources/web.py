"""A document behind a URL: fetched within bounds, again only where it has changed."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urljoin, urlsplit

import httpx

from holodeck_backend_claude.config.source_names import url_problem
from holodeck_backend_claude.redaction import mask_secrets
from holodeck_backend_claude.retrieval.documents.formats import SUFFIXES
from holodeck_backend_claude.retrieval.sources.found import UNSUPPORTED, Found, Skipped, SourceFile
from holodeck_backend_claude.retrieval.sources.reading import LARGEST_FILE

log = logging.getLogger(__name__)

SECONDS = 60.0
"""For one document, redirects and all."""

_MOST_REDIRECTS = 5
_OFFICE = "application/vnd.openxmlformats-officedocument."
_SUFFIX_OF = {
    "text/markdown": ".md",
    "text/x-markdown": ".md",
    "text/plain": ".txt",
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "application/pdf": ".pdf",
    "text/csv": ".csv",
    "application/json": ".json",
    "application/x-ndjson": ".jsonl",
    f"{_OFFICE}wordprocessingml.document": ".docx",
    f"{_OFFICE}presentationml.presentation": ".pptx",
    f"{_OFFICE}spreadsheetml.sheet": ".xlsx",
}


class _UnfetchableError(Exception):
    """The document cannot be had; the message is the cause."""


def fetched(url: str, folder: Path) -> Found:
    """The document behind a URL, kept in a folder.

    It is asked for with what the server said of it the last time, so that an unchanged one is
    not sent again. One that cannot be had now is taken as it was, with a warning.

    Args:
        url: One in which ``config.source_names.url_problem`` finds nothing wrong.
        folder: Where it is kept.
    """
    kept = _Kept(folder / hashlib.sha256(url.encode()).hexdigest()[:32])
    found = Found(mask_secrets(url))
    try:
        _fetch(url, kept)
    except (_UnfetchableError, httpx.HTTPError, OSError) as cause:
        why = mask_secrets(str(cause)) or type(cause).__name__
        if not kept.file.is_file():
            found.skipped.append(Skipped(mask_secrets(url), f"it cannot be fetched: {why}"))
            return found
        log.warning("%s: searched as it was before: it cannot be fetched: %s", found.root, why)
    status = kept.file.stat()
    suffix = kept.said.get("suffix") or ""
    if suffix not in SUFFIXES:
        cause_text = f"{UNSUPPORTED}{suffix or 'a document of unknown kind'}"
        found.skipped.append(Skipped(mask_secrets(url), cause_text))
        return found
    found.files.append(
        SourceFile(
            _name(mask_secrets(url), suffix),
            kept.file,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
        )
    )
    return found


class _Kept:
    """What is known of a document from the last time."""

    def __init__(self, place: Path) -> None:
        self.file = place.with_suffix(".content")
        self._notes = place.with_suffix(".json")
        try:
            self.said: dict[str, str] = json.loads(self._notes.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self.said = {}

    def conditions(self) -> dict[str, str]:
        """Headers that ask for the document only where it is another one."""
        if not self.file.is_file():
            return {}
        asked = {"If-None-Match": "etag", "If-Modified-Since": "last-modified"}
        return {name: self.said[key] for name, key in asked.items() if self.said.get(key)}

    def keep(self, data: bytes, headers: Mapping[str, str], suffix: str) -> None:
        """Write it down, so that either the old or the new one is there."""
        self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.said = {key: headers.get(key, "") for key in ("etag", "last-modified")}
        self.said["suffix"] = suffix
        if not self.file.is_file() or self.file.read_bytes() != data:
            _replace(self.file, data)
        _replace(self._notes, json.dumps(self.said).encode())


def _replace(path: Path, data: bytes) -> None:
    new = path.with_name(f"{path.name}.{os.getpid()}")
    new.write_bytes(data)
    new.chmod(0o600)
    new.replace(path)


def _fetch(url: str, kept: _Kept) -> None:
    deadline = time.monotonic() + SECONDS
    public = False
    with httpx.Client(timeout=SECONDS / 2, trust_env=True) as client:
        for _ in range(_MOST_REDIRECTS + 1):
            with client.stream("GET", url, headers=kept.conditions()) as response:
                is_public = _is_public(response)
                if public and not is_public:
                    raise _UnfetchableError("it redirects to an address of a private network")
                public = public or is_public
                if response.is_redirect and response.headers.get("location"):
                    url = urljoin(url, response.headers["location"])
                    _check_redirect(url)
                    continue
                if response.status_code == httpx.codes.NOT_MODIFIED:
                    return
                if not response.is_success:
                    raise _UnfetchableError(f"the server answered {response.status_code}")
                data = _body(response, deadline)
                kept.keep(data, response.headers, _suffix(url, response.headers))
                return
    raise _UnfetchableError(f"it redirects more than {_MOST_REDIRECTS} times")


def _body(response: httpx.Response, deadline: float) -> bytes:
    parts: list[bytes] = []
    length = 0
    for part in response.iter_bytes():
        length += len(part)
        if length > LARGEST_FILE:
            raise _UnfetchableError(f"it is larger than {LARGEST_FILE >> 20} MiB")
        if time.monotonic() > deadline:
            raise _UnfetchableError(f"it did not arrive within {SECONDS:g} s")
        parts.append(part)
    return b"".join(parts)


def _is_public(response: httpx.Response) -> bool:
    """Whether the other end of the connection is out in the world, as it really is."""
    stream = response.extensions.get("network_stream")
    address = stream.get_extra_info("server_addr") if stream is not None else None
    try:
        return ipaddress.ip_address(address[0].partition("%")[0]).is_global if address else False
    except ValueError:
        return False


def _check_redirect(url: str) -> None:
    problem = url_problem(url)
    if problem is not None or urlsplit(url).scheme == "file":
        raise _UnfetchableError(f"it redirects to {urlsplit(url).scheme}://, which is not followed")


def _suffix(url: str, headers: Mapping[str, str]) -> str:
    """What kind of document it is, by its name, else by what the server says."""
    suffix = PurePosixPath(unquote(urlsplit(url).path)).suffix.lower()
    if suffix in SUFFIXES:
        return suffix
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    return _SUFFIX_OF.get(media_type, suffix)


def _name(url: str, suffix: str) -> str:
    """How results call it: its URL, which ends as its kind of document does."""
    bare = urlsplit(url)._replace(query="", fragment="").geturl()
    return bare if bare.lower().endswith(suffix) else f"{bare}{suffix}"
