"""The documents of a source, and what of it is left out, each with its cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from holodeck_backend_claude.retrieval.documents.formats import SUFFIXES

UNSUPPORTED = "not supported: "


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
        path: Relative to the source folder, with ``/``, or its URL; what results show.
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
    """What a source holds, both lists in the order of their paths.

    Attributes:
        root: The folder, or the URL.
        files: The documents.
        skipped: What is left out.
    """

    root: Path | str
    files: list[SourceFile] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def nothing_found(found: Found, skipped: Sequence[Skipped]) -> str:
    """Why a source gave nothing to index, and what to do."""
    head = f"nothing to index in {found.root}: "
    wanted = f"documents ({', '.join(SUFFIXES)})"
    if not skipped:
        return f"{head}it holds no {wanted}; put some there, or point 'source' elsewhere"
    others = Counter(s.cause for s in skipped if s.cause.startswith(UNSUPPORTED))
    told = [f"{count} x {cause}" for cause, count in others.most_common(5)]
    told += [str(s) for s in skipped if not s.cause.startswith(UNSUPPORTED)][:5]
    return f"{head}{'; '.join(told)}; {wanted} with text in them are indexed"
