"""The documents of a source: a file, or a folder and all below it; what is left out, and why."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from holodeck_backend_claude.contract import ConfigError
from holodeck_backend_claude.retrieval.documents.decoding import NotTextError, decode

SUFFIXES = (".md", ".txt")
LARGEST_FILE = 16 * 1024 * 1024
"""Bytes of one document; cutting it takes about forty times as much memory."""
IGNORED = frozenset({"__pycache__", "node_modules", "site-packages"})


@dataclass(frozen=True)
class Skipped:
    """Something that is not in the index, or not wholly, and why.

    Attributes:
        path: Relative to the source folder.
        cause: What is wrong with it, in words for the user.
    """

    path: str
    cause: str

    def __str__(self) -> str:
        return f"{self.path}: {self.cause}"


@dataclass(frozen=True)
class SourceFile:
    """A document that was found.

    Attributes:
        path: Relative to the source folder, with ``/``; what results show.
        real_path: Where it is read from, links resolved.
        size: Bytes.
        mtime_ns: When its content last changed, in nanoseconds since 1970.
        ctime_ns: When its name, owner, mode or content last changed.
    """

    path: str
    real_path: Path
    size: int
    mtime_ns: int
    ctime_ns: int


@dataclass
class Found:
    """What a walk over a source found, both lists in the order of their paths."""

    root: Path
    files: list[SourceFile] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


class UnreadableError(Exception):
    """A document cannot be read or holds no text; the message is its cause."""


def find_files(source: str, base_dir: Path) -> Found:
    """List the documents of a source, without reading them.

    Hidden names (``.git``), ``*~`` and the names of :data:`IGNORED` are left out. A link is
    followed where it leads to something below the folder that is not listed under its own name.

    Args:
        source: A file or a folder; relative paths start at ``base_dir``.
        base_dir: The folder of agent.yaml.

    Raises:
        ConfigError: There is no such file or folder.
    """
    path = _existing(source, base_dir)
    walk = _Walk(path if path.is_dir() else path.parent)
    if path.is_dir():
        walk.folder(path, "")
        walk.links()
    else:
        walk.file(path, path.name)
    walk.found.files.sort(key=lambda file: file.path)
    walk.found.skipped.sort(key=lambda skipped: skipped.path)
    return walk.found


def read_text(data: bytes) -> str:
    """The text of a document.

    Raises:
        UnreadableError: It is empty or no text.
    """
    try:
        text = decode(data)
    except NotTextError as cause:
        raise UnreadableError(str(cause)) from cause
    if not text.strip():
        raise UnreadableError("it is empty")
    return text


def read_bytes(file: SourceFile) -> bytes:
    """The bytes of a document.

    Raises:
        UnreadableError: It cannot be read, or is larger than :data:`LARGEST_FILE`.
    """
    data = b"" if file.size > LARGEST_FILE else _beginning(file.real_path)
    if max(len(data), file.size) > LARGEST_FILE:
        raise UnreadableError(f"it is larger than {LARGEST_FILE >> 20} MiB; split it")
    return data


def _beginning(path: Path) -> bytes:
    """What a file holds, up to a byte more than is allowed; it may have changed since it was found.

    Not blocking, because opening a pipe would wait for somebody to write into it.
    """
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise UnreadableError(_NOT_REGULAR)
            return opened.read(LARGEST_FILE + 1)
    except OSError as cause:
        raise UnreadableError(_why(cause)) from cause


def nothing_found(found: Found, skipped: Sequence[Skipped]) -> str:
    """Why a source gave nothing to index, and what to do."""
    head = f"nothing to index in {found.root}: "
    wanted = " and ".join(SUFFIXES)
    if not skipped:
        return f"{head}it holds no {wanted} files; put some there, or point 'source' elsewhere"
    others = Counter(s.cause for s in skipped if s.cause.startswith(_UNSUPPORTED))
    told = [f"{count} x {cause}" for cause, count in others.most_common(5)]
    told += [str(s) for s in skipped if not s.cause.startswith(_UNSUPPORTED)][:5]
    return f"{head}{'; '.join(told)}; {wanted} files with text in them are indexed"


_UNSUPPORTED = "not supported yet: "
_NOT_REGULAR = "it is not a regular file"


def _existing(source: str, base_dir: Path) -> Path:
    if "://" in source:
        raise ConfigError(f"source {source!r} is a URL; give a file or folder of this machine")
    path = base_dir / source
    try:
        path = base_dir / Path(source).expanduser()
        return path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as cause:
        raise ConfigError(
            f"source {source!r} cannot be opened: {path.absolute()}: {_why(cause)}; "
            "relative paths start at the folder of agent.yaml"
        ) from cause


def _why(cause: BaseException) -> str:
    if isinstance(cause, FileNotFoundError):
        return "it does not exist"
    if isinstance(cause, OSError) and cause.strerror:
        return f"it cannot be read ({cause.strerror.lower()})"
    return f"it cannot be read ({cause})"


@dataclass
class _Walk:
    """One walk; links wait until everything under its own name is known."""

    root: Path
    found: Found = field(init=False)
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
            self._skip(prefix.rstrip("/") or ".", _why(cause))
            return
        for entry in listed:
            if not _is_left_out(entry.name):
                yield entry, prefix + entry.name

    def links(self) -> None:
        """Follow the links that lead to something below the root."""
        while self._waiting:
            link, name = self._waiting.pop(0)
            try:
                target = link.resolve(strict=True)
            except (OSError, RuntimeError) as cause:
                self._skip(name, f"it is a link that leads nowhere: {_why(cause)}")
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
        if path in self._seen:
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
            self._skip(name, f"{_UNSUPPORTED}{suffix or 'a name without an ending'}")
            return
        try:
            status = path.stat()
        except OSError as cause:
            self._skip(name, _why(cause))
            return
        if not stat.S_ISREG(status.st_mode):
            self._skip(name, _NOT_REGULAR)
            return
        self.found.files.append(
            SourceFile(name, path, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        )

    def _skip(self, path: str, cause: str) -> None:
        self.found.skipped.append(Skipped(path, cause))


def _is_left_out(name: str) -> bool:
    return name.startswith(".") or name.endswith("~") or name in IGNORED
