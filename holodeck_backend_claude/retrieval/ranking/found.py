"""From a passage that was found to the result that tells of it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace

from holodeck_backend_claude.retrieval.indexing import glossary, store
from holodeck_backend_claude.retrieval.results import SearchResult

_DEFINITIONS, _REFERENCES = 10, 5
"""With one result, at most."""

_LONGEST_BEGINNING = 500


@dataclass(frozen=True)
class Match:
    """A passage with all its scores."""

    chunk_id: int
    fused: float
    cosine: float | None
    keyword: float | None
    is_exact: bool = False

    @property
    def similarity(self) -> float:
        """What a least similarity is compared with."""
        if self.cosine is not None:
            return self.cosine
        return self.keyword if self.keyword is not None else float(self.is_exact)


def in_order(matches: list[Match], scores: list[float] | None) -> list[Match]:
    """The best first by these scores; as they are where there are none."""
    if scores is None:
        return matches
    scored = [replace(match, fused=score) for match, score in zip(matches, scores, strict=True)]
    return sorted(scored, key=lambda match: -match.fused)


def results_of(db: sqlite3.Connection, matches: list[Match], query: str) -> list[SearchResult]:
    """The results that tell of these passages, in their order."""
    chunks = store.chunks(db, [match.chunk_id for match in matches])
    return [
        _result(db, match, chunks[match.chunk_id], query)
        for match in matches
        if match.chunk_id in chunks  # another process may have removed it since it was found
    ]


def _result(
    db: sqlite3.Connection, match: Match, chunk: store.StoredChunk, query: str
) -> SearchResult:
    """The passage with its scores, and what a reader of it should know."""
    return SearchResult(
        chunk_id=f"{chunk.path}#{chunk.ordinal}",
        content=chunk.content,
        fused_score=match.fused,
        source_path=chunk.path,
        parent_chain=chunk.parent_chain,
        section_id=chunk.section_id,
        subsection_ids=chunk.subsection_ids,
        semantic_score=None if match.cosine is None else min(1.0, max(0.0, match.cosine)),
        keyword_score=match.keyword,
        exact_match=match.is_exact or query.casefold() in chunk.content.casefold(),
        definitions_context=_definitions(db, chunk),
        chunk_type=chunk.kind,
        record_id=chunk.record_id,
        metadata=chunk.metadata,
    )


def _definitions(db: sqlite3.Connection, chunk: store.StoredChunk) -> list[tuple[str, str]]:
    """What a reader of the passage should know: terms in it, and where it refers to."""
    found = glossary.definitions_for(db, chunk.path, chunk.content, most=_DEFINITIONS)
    for label, section_id in chunk.references[:_REFERENCES]:
        beginning = glossary.beginning_of_section(db, chunk.path, section_id)
        if beginning is not None:
            found.append((label, " ".join(beginning.split())[:_LONGEST_BEGINNING]))
    return found
