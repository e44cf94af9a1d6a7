"""Passages that hold the query word for word, and sections that are called like it."""

from __future__ import annotations

import sqlite3

from holodeck_backend_claude.retrieval.indexing import store
from holodeck_backend_claude.retrieval.ranking.keywords import folded, phrase_expression


def exact_matches(db: sqlite3.Connection, query: str, limit: int) -> list[int]:
    """The chunks that hold a query as it is, case, accents and line breaks aside.

    Those of a section whose id is the query come first, then the others as the keyword index
    ranks them. It is asked for the words in their order, and finds inflected ones, too; what it
    finds is compared with the query.

    Args:
        db: The index.
        query: Any text; quotes around it do not count.
        limit: Chunks at most.
    """
    wanted = _plain(query.strip().strip("\"'“”„«»"))
    if not wanted:
        return []
    named = store.chunks_of_section(db, wanted, limit)
    found = [number for number, _ in store.keyword_matches(db, phrase_expression(wanted), limit)]
    texts = store.searchable_texts(db, found)
    holding = [number for number in found if wanted in _plain(texts.get(number, ""))]
    return list(dict.fromkeys([*named, *holding]))[:limit]


def _plain(text: str) -> str:
    return " ".join(folded(text).split())
