"""SearchResult: a passage that was found, and the text form in which a model reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from holodeck_backend_claude.retrieval.documents.kinds import Kind

_LONGEST_DEFINITION = 100


@dataclass
class SearchResult:
    """A passage that was found.

    Attributes:
        chunk_id: Names the chunk within its index.
        content: The passage as it stands in the document.
        fused_score: 0.0 to 1.0; the first result of a search has the highest.
        source_path: The document, relative to the source folder.
        parent_chain: The headings above the passage, outermost first; empty at the root.
        section_id: The anchor of the section, empty where there is none.
        subsection_ids: The anchors of the sections directly below.
        semantic_score: Cosine similarity to the query, cut at 0.0; None where the passage or the
            query has no vector.
        keyword_score: Keyword score relative to the best passage of the search, 0.0 to 1.0; None
            where no word of the query was found.
        exact_match: True if the passage holds the query word for word.
        definitions_context: Terms of the passage with their definitions, as ``(term, text)``
            pairs or as a mapping of term to text; also sections that it refers to, with their
            beginnings.
        record_id: The record that the passage is of; empty where it is of none.
        metadata: What is told with the record, by name.
        chunk_type: ``header``, ``definition``, ``requirement`` or ``content``.
    """

    chunk_id: str
    content: str
    fused_score: float
    source_path: str
    parent_chain: list[str]
    section_id: str
    subsection_ids: list[str] = field(default_factory=list)
    semantic_score: float | None = None
    keyword_score: float | None = None
    exact_match: bool = False
    definitions_context: Sequence[tuple[str, str]] | Mapping[str, str] = field(default_factory=list)
    chunk_type: Kind = "content"
    record_id: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)

    def format(self) -> str:
        """The result as text: score, source, location, section, content, definitions."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"Score: {self.fused_score:.3f} | Source: {self.source_path}"
        yield f"Location: {' > '.join(self.parent_chain) or 'Root'}"
        if self.section_id:
            yield f"Section: {self.section_id}"
        yield ""
        yield self.content
        if self.definitions_context:
            yield ""
            yield "Relevant definitions:"
            for term, text in _pairs(self.definitions_context):
                yield f"  - {term}: {text[:_LONGEST_DEFINITION]}"


def _pairs(
    definitions: Sequence[tuple[str, str]] | Mapping[str, str],
) -> Sequence[tuple[str, str]]:
    return list(definitions.items()) if isinstance(definitions, Mapping) else definitions
