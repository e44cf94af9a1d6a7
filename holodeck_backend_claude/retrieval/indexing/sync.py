"""Brings the chunks of an index in line with the files that are there."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from holodeck_backend_claude.redaction import mask_secrets, traceback_of
from holodeck_backend_claude.retrieval.documents.chunking import (
    CHUNKER,
    PLAIN,
    CutDocument,
    Structure,
    cut_records,
    cut_sections,
    plain_section,
)
from holodeck_backend_claude.retrieval.documents.formats import (
    UnreadableError,
    format_of,
    installed,
    to_text,
)
from holodeck_backend_claude.retrieval.documents.markdown import sections
from holodeck_backend_claude.retrieval.documents.records import RecordSettings, records_in
from holodeck_backend_claude.retrieval.indexing import glossary, store, vectors
from holodeck_backend_claude.retrieval.indexing.database import Database
from holodeck_backend_claude.retrieval.indexing.store import StoredFile
from holodeck_backend_claude.retrieval.ranking.keywords import TOKENIZER
from holodeck_backend_claude.retrieval.sources import (
    Found,
    Skipped,
    SourceFile,
    find_documents,
    read_bytes,
)

log = logging.getLogger(__name__)

_COARSE_TICK_NS = 2_000_000_000
_FINE_TICK_NS = 50_000_000
"""A file that changed so shortly before it was read may have changed again at the same time."""


@dataclass(frozen=True)
class ChunkSettings:
    """How documents are cut.

    Attributes:
        size: Tokens of a chunk at most.
        overlap: Tokens repeated from the chunk before.
        by_headings: Whether a Markdown document is cut at its headings.
        structure: What else of a document's structure is looked at.
        records: Which fields are what where documents are lists of records; None where not.
    """

    size: int
    overlap: int
    by_headings: bool = True
    structure: Structure = PLAIN
    records: RecordSettings | None = None

    @property
    def fingerprint(self) -> str:
        """Changes whenever chunks or their keywords would come out otherwise."""
        cut = (CHUNKER, self.size, self.overlap, self.by_headings, self.structure, self.records)
        return "/".join(map(str, (*cut, installed(), TOKENIZER)))

    def cut(self, name: str, data: bytes) -> CutDocument:
        """A document, cut into chunks.

        Raises:
            UnreadableError: It cannot be read, or holds no records where it should.
        """
        if self.records is not None:
            found = records_in(name, data, self.records)
            return cut_records(found, size=self.size, overlap=self.overlap)
        text = to_text(name, data)
        has_headings = self.by_headings and format_of(name).has_headings
        parts = sections(text) if has_headings else [plain_section(text)]
        return cut_sections(parts, size=self.size, overlap=self.overlap, structure=self.structure)


@dataclass
class SyncReport:
    """What a run did.

    Attributes:
        found: The files and what was left out on the way.
        skipped: All that is not in the index, with causes, in the order of paths.
        changed: Files that were cut into chunks anew.
        removed: Files that are gone.
    """

    found: Found
    skipped: list[Skipped] = field(default_factory=list)
    changed: int = 0
    removed: int = 0


def sync_files(
    database: Database,
    source: str,
    base_dir: Path,
    settings: ChunkSettings,
    progress: Callable[[int, int], None],
    *,
    anew: bool = False,
) -> SyncReport:
    """Make the index hold the chunks of exactly the files that are there, in one transaction.

    A file whose size and times are those of the last run is not read; one whose content is the
    same is not cut again.

    Args:
        database: The index.
        source: A file, a folder, a pattern or a URL.
        base_dir: Where a relative source starts.
        settings: How to cut.
        progress: ``progress(done, total)``, in files to read.
        anew: Read and cut everything, and forget every vector.

    Raises:
        ConfigError: There is no such source.
    """
    found = find_documents(source, base_dir, downloads=database.path.parent / "downloads")
    report = SyncReport(found)
    with database.reading() as db:
        plan = _Plan.make(db, found, settings, anew=anew)
    if plan.has_work:
        with database.writing() as db:
            if anew:
                vectors.forget(db)
            # another process may have been here
            plan = _Plan.make(db, found, settings, anew=anew)
            _Run(db, settings, report).carry_out(plan, progress)
    else:
        report.skipped = plan.stored_causes()
    report.skipped = sorted([*found.skipped, *report.skipped], key=lambda skipped: skipped.path)
    return report


@dataclass(frozen=True)
class _Plan:
    """What differs between the index and the files."""

    known: Mapping[str, StoredFile]
    is_anew: bool  # nothing of what was made before is of use
    root: str
    to_read: list[SourceFile]
    gone: list[str]
    is_moved: bool  # the same index for another folder

    @classmethod
    def make(
        cls, db: sqlite3.Connection, found: Found, settings: ChunkSettings, *, anew: bool
    ) -> _Plan:
        root = str(found.root)
        is_anew = anew or store.meta(db, "chunks") != settings.fingerprint
        is_moved = store.meta(db, "source") != root
        known = {} if is_anew else store.stored_files(db)
        to_read = [f for f in found.files if is_moved or not _is_unchanged(f, known.get(f.path))]
        gone = sorted(known.keys() - {file.path for file in found.files})
        return cls(known, is_anew, root, to_read, gone, is_moved)

    @property
    def has_work(self) -> bool:
        return bool(self.is_anew or self.is_moved or self.to_read or self.gone)

    def stored_causes(self) -> list[Skipped]:
        return [Skipped(f.path, f.cause) for f in self.known.values() if f.cause is not None]


def _is_unchanged(file: SourceFile, stored: StoredFile | None) -> bool:
    """Whether a file needs no reading, going by what the file system says of it."""
    if stored is None or stored.status != (file.size, file.mtime_ns, file.ctime_ns):
        return False
    has_fine_times = file.ctime_ns % 1_000_000_000
    tick = _FINE_TICK_NS if has_fine_times else _COARSE_TICK_NS
    return max(file.mtime_ns, file.ctime_ns) + tick < stored.read_ns


class _Run:
    """The work of one transaction."""

    def __init__(self, db: sqlite3.Connection, settings: ChunkSettings, report: SyncReport) -> None:
        self._db = db
        self._settings = settings
        self._report = report

    def carry_out(self, plan: _Plan, progress: Callable[[int, int], None]) -> None:
        """Read what has to be read, and leave out what is gone."""
        if plan.is_anew:
            store.clear(self._db)
            store.set_meta(self._db, "chunks", self._settings.fingerprint)
        store.set_meta(self._db, "source", plan.root)
        for path in plan.gone:
            store.remove_file(self._db, path)
        self._report.removed = len(plan.gone)
        for number, file in enumerate(plan.to_read, start=1):
            try:
                self._read(file, plan.known.get(file.path))
            except UnreadableError as cause:
                store.remove_file(self._db, file.path)
                self._report.skipped.append(Skipped(file.path, str(cause)))
            progress(number, len(plan.to_read))
        self._report.skipped += [
            Skipped(file.path, file.cause)
            for file in store.stored_files(self._db).values()
            if file.cause is not None
        ]

    def _read(self, file: SourceFile, stored: StoredFile | None) -> None:
        read_ns = time.time_ns()
        data = read_bytes(file)
        sha256 = hashlib.sha256(data).digest()
        if stored is not None and stored.sha256 == sha256:
            store.touch_file(self._db, stored.id, file, read_ns)
            return
        cut, cause = self._cut(file.path, data)
        store.remove_file(self._db, file.path)
        file_id = store.add_file(self._db, file, read_ns, sha256, cause)
        store.add_chunks(self._db, file_id, cut.chunks)
        glossary.add_definitions(self._db, file_id, cut.definitions)
        self._report.changed += 1

    def _cut(self, path: str, data: bytes) -> tuple[CutDocument, str | None]:
        """A document cut into chunks, or why it has none."""
        try:
            cut = self._settings.cut(path, data)
        except UnreadableError as cause:
            return CutDocument([]), str(cause)
        except Exception as cause:  # noqa: BLE001 - one bad document must not stop the others
            log.warning("%s cannot be cut into chunks: %s", path, traceback_of(cause))
            told = mask_secrets(f"{type(cause).__name__}: {cause}")
            return CutDocument([]), f"it cannot be cut into chunks ({told})"
        return cut, None if cut.chunks else "it holds no text"
