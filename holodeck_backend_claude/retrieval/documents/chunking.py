"""Documents to chunks: packed up to a token limit, never across a heading, with overlap."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, repeat

from holodeck_backend_claude.retrieval.documents.definitions import Definition, definitions_in
from holodeck_backend_claude.retrieval.documents.domains import Domain, subdivided
from holodeck_backend_claude.retrieval.documents.kinds import Kind, kind_of
from holodeck_backend_claude.retrieval.documents.markdown import (
    LONGEST_TITLE,
    Block,
    Section,
    sections,
)
from holodeck_backend_claude.retrieval.documents.records import Record
from holodeck_backend_claude.retrieval.documents.references import Places, Reference
from holodeck_backend_claude.retrieval.documents.segments import Segment, block_segments

CHUNKER = "headings-2"
"""Changes whenever the same document would be cut otherwise; part of the index fingerprint."""

_PARAGRAPH_GAP = re.compile(r"\n[ \t]*\n\s*")


@dataclass(frozen=True)
class Chunk:
    """A passage of a document.

    Attributes:
        content: The passage as it stands in the document, with its heading where it is the first
            of its section.
        parent_chain: The headings above it, outermost first.
        section_id: The anchor of its section; empty where there is none.
        context: The headings above it that are not in ``content``.
        kind: What it is.
        subsection_ids: The anchors of the sections directly below its own.
        references: The sections of its document that it refers to.
        record_id: The record that it is of; empty where it is of none.
        metadata: What is told with it, by name.
    """

    content: str
    parent_chain: tuple[str, ...] = ()
    section_id: str = ""
    context: str = ""
    kind: Kind = "content"
    subsection_ids: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    record_id: str = ""
    metadata: tuple[tuple[str, str], ...] = ()

    @property
    def searchable(self) -> str:
        """What is embedded and put into the keyword index: the context and the content."""
        return f"{self.context}\n{self.content}" if self.context else self.content


@dataclass(frozen=True)
class CutDocument:
    """A document as it is indexed.

    Attributes:
        chunks: Its passages, in their order.
        definitions: The terms it defines.
    """

    chunks: list[Chunk]
    definitions: list[Definition] = field(default_factory=list)


@dataclass(frozen=True)
class Structure:
    """What of a document's structure is looked at.

    Attributes:
        domain: The kind of document, which tells what its numbered parts look like.
        depth: How many levels of numbered parts are sections; None means all.
        definitions: Whether definitions are looked for.
        references: Whether references between sections are.
    """

    domain: Domain = "none"
    depth: int | None = None
    definitions: bool = False
    references: bool = False


PLAIN = Structure()
"""Headings only."""


def cut_sections(
    found: Sequence[Section], *, size: int, overlap: int, structure: Structure
) -> CutDocument:
    """Cut a document with sections into chunks, none of which crosses the border of a section.

    A chunk begins with as many of the last whole sentences of the one before it, in the same
    section, as fit into ``overlap``.

    Args:
        found: The sections below its headings.
        size: Tokens of a chunk's ``content`` at most.
        overlap: Tokens repeated at most; less than ``size``.
        structure: What else is looked at.
    """
    parts = [
        part
        for section in found
        for part in subdivided(section, structure.domain, depth=structure.depth)
    ]
    places = Places(parts) if structure.references else None
    below = _directly_below(parts)
    chunks: list[Chunk] = []
    for number, section in enumerate(parts):
        for chunk in _section_chunks(section, bool(below[number]), size, overlap):
            referred = (
                places.referred_to(chunk.content, from_section=section.anchor) if places else ()
            )
            chunks.append(
                replace(
                    chunk,
                    kind=kind_of(chunk.content, section),
                    subsection_ids=tuple(below[number]),
                    references=tuple(referred),
                )
            )
    return CutDocument(chunks, definitions_in(parts) if structure.definitions else [])


def chunk_markdown(text: str, *, size: int, overlap: int) -> list[Chunk]:
    """The chunks of a Markdown document; the arguments are those of :func:`cut_sections`."""
    return cut_sections(sections(text), size=size, overlap=overlap, structure=PLAIN).chunks


def chunk_text(text: str, *, size: int, overlap: int) -> list[Chunk]:
    """The chunks of a text without headings; the arguments are those of :func:`cut_sections`."""
    whole = [plain_section(text)]
    return cut_sections(whole, size=size, overlap=overlap, structure=PLAIN).chunks


def cut_records(found: Sequence[Record], *, size: int, overlap: int) -> CutDocument:
    """The chunks of records: one for each, more where it is longer than ``size`` tokens."""
    chunks = [
        replace(chunk, record_id=record.id, metadata=record.metadata)
        for record in found
        for chunk in chunk_text(record.content, size=size, overlap=overlap)
    ]
    return CutDocument(chunks)


def plain_section(text: str) -> Section:
    """A text without headings as one section."""
    paragraphs = [Block("text", part) for part in _PARAGRAPH_GAP.split(text) if part.strip()]
    return Section(blocks=paragraphs)


def _directly_below(parts: Sequence[Section]) -> list[list[str]]:
    """For each section the anchors of those directly below it, in their order."""
    below: list[list[str]] = [[] for _ in parts]
    above: list[int] = []
    for number, part in enumerate(parts):
        while above and parts[above[-1]].level >= part.level:
            above.pop()
        if above and part.anchor:
            below[above[-1]].append(part.anchor)
        above.append(number)
    return below


def _section_chunks(section: Section, has_children: bool, size: int, overlap: int) -> list[Chunk]:
    heading = block_segments(Block("text", section.heading), size)
    groups = [segments for block in section.blocks if (segments := block_segments(block, size))]
    is_cut = len(section.heading) > LONGEST_TITLE  # in the chain, as a long paragraph above --- is
    if groups and heading and _tokens(heading) + groups[0][0].tokens <= size:
        groups[0] = [*(replace(segment, repeats=False) for segment in heading), *groups[0]]
        first_context = section.chain[:-1]
    elif section.chain and (is_cut or not (groups or has_children)):
        groups, first_context = [heading, *groups], section.chain[:-1]
    else:  # a heading without text of its own is in the context of what is below it
        first_context = section.chain
    packer = _Packer(size, overlap)
    for group in groups:
        packer.add_group(group)
    return [
        Chunk(content, section.chain, section.anchor, " > ".join(context))
        for content, context in zip(
            packer.finish(), chain([first_context], repeat(section.chain)), strict=False
        )
    ]


def _tokens(segments: Iterable[Segment]) -> int:
    return sum(segment.tokens for segment in segments)


class _Packer:
    """Fills one chunk after the other."""

    def __init__(self, size: int, overlap: int) -> None:
        self._size = size
        self._overlap = overlap
        self._full: list[str] = []
        self._segments: deque[Segment] = deque()
        self._used = 0
        self._has_new = False  # whether more stands in the chunk than what it repeats

    def add_group(self, segments: Sequence[Segment]) -> None:
        """Add a block; one that no longer fits begins a chunk, unless that leaves one half empty.

        Args:
            segments: Each of at most the size of a chunk.
        """
        needed = _tokens(segments)
        if self._used + needed > self._size >= needed and self._used * 2 >= self._size:
            self._close()
        for segment in segments:
            self._add(segment)

    def finish(self) -> list[str]:
        """The chunks."""
        self._close()
        return self._full

    def _add(self, segment: Segment) -> None:
        if self._used + segment.tokens > self._size:
            self._close()
        while self._segments and self._used + segment.tokens > self._size:
            self._used -= self._segments.popleft().tokens
        self._segments.append(segment)
        self._used += segment.tokens
        self._has_new = True

    def _close(self) -> None:
        if not self._has_new:
            return
        first, *others = self._segments
        self._full.append(first.text + "".join(segment.gap + segment.text for segment in others))
        self._keep_overlap()
        self._has_new = False

    def _keep_overlap(self) -> None:
        """Leave the segments at the end of the chunk that the next one repeats."""
        kept: deque[Segment] = deque()
        self._used = 0
        while self._segments and self._segments[-1].repeats:
            segment = self._segments.pop()
            if self._used + segment.tokens > self._overlap:
                break
            kept.appendleft(segment)
            self._used += segment.tokens
        self._segments = kept
