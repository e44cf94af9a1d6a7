"""The documents of a folder and all below it, or a single file."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from holodeck_backend_claude.retrieval.documents.formats import SUFFIXES
from holodeck_backend_claude.retrieval.sources.found import (
    UNSUPPORTED,
    Found,
    Skipped,
    SourceFile,
)
from holodeck_backend_claude.retrieval.sources.ignored import IgnoreRules
from holodeck_backend_claude.retrieval.sources.reading import NOT_REGULAR, why_unreadable

IGNORED = frozenset({"__pycache__", "node_modules", "site-packages"})


def documents_of(path: Path, *, fits: Callable[[str], bool] = lambda _path: True) -> Found:
    """List the documents of a file or folder, without reading them.

    Hidden names (``.git``), ``*~``, the names of :data:`IGNORED` and what a ``.gitignore`` in the
    folder or below names are left out. A link is followed where it leads to something below the
    folder that is not listed under its own name.

    Args:
        path: A file or folder that exists, links resolved.
        fits: Whether a file is wanted, by its path relative to the folder.
    """
    walk = _Walk(path if path.is_dir() else path.parent, fits)
    if path.is_dir():
        walk.folder(path, "")
        walk.links()
    else:
        walk.file(path, path.name)
    walk.found.files.sort(key=lambda file: file.path)
    walk.found.skipped.sort(key=lambda skipped: skipped.path)
    return walk.found


@dataclass
class _Walk:
    """One walk; links wait until everything under its own name is known."""

    root: Path
    fits: Callable[[str], bool]
    found: Found = field(init=False)
    _rules: IgnoreRules = field(default_factory=IgnoreRules)
    _waiting: list[tuple[Path, str]] = field(default_factory=list)
    _seen: set[Path] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.found = Found(self.root)

    def folder(self, folder: Path, prefix: str) -> None:
        """List a folder and, after it, the folders below."""
        pending = [(folder, prefix)]
        while pending:
            here, prefix = pending.pop()
            if here in self._seen:
                continue
            self._seen.add(here)
            self._rules.enter(here, prefix)
            for entry, name in self._entries(here, prefix):
                if entry.is_symlink():
                    self._waiting.append((here / entry.name, name))
                elif entry.is_dir(follow_symlinks=False):
                    pending.append((here / entry.name, f"{name}/"))
                else:
                    self.file(here / entry.name, name)

    def _entries(self, folder: Path, prefix: str) -> Iterator[tuple[os.DirEntry[str], str]]:
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as cause:
            self._skip(prefix.rstrip("/") or ".", why_unreadable(cause))
            return
        for entry in listed:
            path = prefix + entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if not _is_left_out(entry.name) and not self._rules.leave_out(
                path, is_folder=is_folder
            ):
                yield entry, path

    def links(self) -> None:
        """Follow the links that lead to something below the root."""
        while self._waiting:
            link, name = self._waiting.pop(0)
            try:
                target = link.resolve(strict=True)
            except (OSError, RuntimeError) as cause:
                self._skip(name, f"it is a link that leads nowhere: {why_unreadable(cause)}")
                continue
            if not target.is_relative_to(self.root):
                self._skip(name, "it is a link that leads out of the source folder")
            elif target not in self._seen:
                self._follow(target, name)

    def _follow(self, target: Path, name: str) -> None:
        if target.is_dir():
            self.folder(target, f"{name}/")
        else:
            self.file(target, name)

    def file(self, path: Path, name: str) -> None:
        """List one file, once."""
        if path in self._seen or not self.fits(name):
            return
        self._seen.add(path)
        try:
            name.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(name).decode("utf-8", "backslashreplace")
            self._skip(shown, "its name is not valid UTF-8; rename it")
            return
        suffix = Path(name).suffix.lower()
        if suffix not in SUFFIXES:
            self._skip(name, f"{UNSUPPORTED}{suffix or 'a name without an ending'}")
            return
        try:
            status = path.stat()
        except OSError as cause:
            self._skip(name, why_unreadable(cause))
            return
        if not stat.S_ISREG(status.st_mode):
            self._skip(name, NOT_REGULAR)
            return
        self.found.files.append(
            SourceFile(name, path, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        )

    def _skip(self, path: str, cause: str) -> None:
        self.found.skipped.append(Skipped(path, cause))


def _is_left_out(name: str) -> bool:
    return name.startswith(".") or name.endswith("~") or name in IGNORED
