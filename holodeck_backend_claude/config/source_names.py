"""What the ``source`` of a search tool names: a path, a pattern of paths, or a URL."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_MAGIC = re.compile(r"[*?\[]")
_READ_HERE = ("file", "http", "https")


def is_url(source: str) -> bool:
    """Whether a source is a URL, of whatever kind."""
    return "://" in source


def url_problem(source: str) -> str | None:
    """Why a URL cannot be a source; None where it can be one."""
    url = urlsplit(source)
    if url.scheme not in _READ_HERE:
        return (
            f"{url.scheme}:// is not read here; a plugin can bring a tool type for such stores. "
            "Here a source is a file, a folder, a pattern, or a file:// or https:// URL"
        )
    if url.scheme == "file":
        is_elsewhere = url.netloc not in ("", "localhost")
        return f"it is a file of another machine ({url.netloc})" if is_elsewhere else None
    if not url.hostname:
        return "it names no host"
    if url.scheme == "http" and not is_this_machine(url.hostname):
        return "http:// is taken for this machine only; use https://"
    return None


def is_this_machine(host: str) -> bool:
    """Whether a name or address is this machine's own."""
    return host in ("localhost", "::1") or host.startswith("127.")


def is_pattern(source: str) -> bool:
    """Whether a source is a pattern, going by its characters alone."""
    return _MAGIC.search(source) is not None


def split_pattern(source: str) -> tuple[str, str]:
    """The folder that a pattern starts in, and the pattern below it.

    ``docs/2024/*.md`` is ``("docs/2024", "*.md")``.
    """
    steps = source.split("/")
    first = next(number for number, step in enumerate(steps) if _MAGIC.search(step))
    folder = "/".join(steps[:first])
    if first and not folder:
        folder = "/"
    return folder or ".", "/".join(steps[first:])
