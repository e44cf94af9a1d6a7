"""What a ``source`` names, and the documents there."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from holodeck_backend_claude.config.source_names import (
    is_pattern,
    is_url,
    split_pattern,
    url_problem,
)
from holodeck_backend_claude.contract import ConfigError
from holodeck_backend_claude.redaction import mask_secrets
from holodeck_backend_claude.retrieval.sources.found import Found
from holodeck_backend_claude.retrieval.sources.patterns import fits
from holodeck_backend_claude.retrieval.sources.reading import why_unreadable
from holodeck_backend_claude.retrieval.sources.walk import documents_of


def find_documents(source: str, base_dir: Path, *, downloads: Path) -> Found:
    """List the documents of a source; one behind a URL is fetched where it has changed.

    Args:
        source: A file, a folder, a pattern (``docs/**/*.md``), or a ``file://`` or ``https://``
            URL; relative paths start at ``base_dir``.
        base_dir: The folder of agent.yaml.
        downloads: A folder for what is fetched.

    Raises:
        ConfigError: There is no such source, or it is of a kind that is not read here.
    """
    if is_url(source):
        return _behind_url(source, base_dir, downloads)
    if is_pattern(source) and not _is_there(source, base_dir):
        folder, pattern = split_pattern(source)
        return documents_of(_existing(folder, base_dir), fits=partial(_fits, pattern=pattern))
    return documents_of(_existing(source, base_dir))


def _behind_url(source: str, base_dir: Path, downloads: Path) -> Found:
    problem = url_problem(source)
    if problem is not None:
        raise ConfigError(f"source {mask_secrets(source)!r}: {problem}")
    url = urlsplit(source)
    if url.scheme == "file":
        return documents_of(_existing(url2pathname(url.path), base_dir))
    from holodeck_backend_claude.retrieval.sources.web import fetched

    return fetched(source, downloads)


def _fits(path: str, *, pattern: str) -> bool:
    return fits(path, pattern)


def _is_there(source: str, base_dir: Path) -> bool:
    try:
        return (base_dir / source).exists()
    except (OSError, ValueError):
        return False


def _existing(source: str, base_dir: Path) -> Path:
    path = base_dir / source
    try:
        path = base_dir / Path(source).expanduser()
        return path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as cause:
        raise ConfigError(
            f"source {source!r} cannot be opened: {path.absolute()}: {why_unreadable(cause)}; "
            "relative paths start at the folder of agent.yaml"
        ) from cause
