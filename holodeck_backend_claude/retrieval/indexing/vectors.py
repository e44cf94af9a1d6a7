"""The vectors of an index: which texts have one, which failed, and how they are stored."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.retrieval.indexing import store
from holodeck_backend_claude.retrieval.sources import Skipped

_STORED = np.dtype("<f2")
_SPARE_VECTORS = 1_000


def embedder_id(db: sqlite3.Connection, fingerprint: str) -> int | None:
    """The row of an embedder; None where no vector of it was ever stored."""
    row = db.execute("SELECT id FROM embedders WHERE fingerprint = ?", (fingerprint,)).fetchone()
    return int(row[0]) if row else None


def dimensions(db: sqlite3.Connection, fingerprint: str) -> int | None:
    """The length of the stored vectors of an embedder; None where there are none."""
    row = db.execute(
        "SELECT length(vector) FROM vectors WHERE embedder_id = ? LIMIT 1",
        (embedder_id(db, fingerprint),),
    ).fetchone()
    return int(row[0]) // _STORED.itemsize if row else None


def texts_without_vector(db: sqlite3.Connection, fingerprint: str) -> list[bytes]:
    """The hashes of the texts that an embedder has yet to embed, the longest text first."""
    rows = db.execute(
        "SELECT c.text_hash FROM chunks c WHERE NOT EXISTS"
        " (SELECT 1 FROM vectors v WHERE v.embedder_id = ? AND v.text_hash = c.text_hash)"
        " GROUP BY c.text_hash ORDER BY max(length(c.content)) DESC, min(c.id)",
        (embedder_id(db, fingerprint),),
    )
    return [text_hash for (text_hash,) in rows]


def texts(db: sqlite3.Connection, text_hashes: Sequence[bytes]) -> dict[bytes, str]:
    """What is to be embedded, by its hash; a text whose chunks are gone is left out."""
    return {wanted: text for wanted in text_hashes if (text := store.text_of(db, wanted))}


def save_vectors(
    db: sqlite3.Connection, fingerprint: str, vectors: dict[bytes, NDArray[np.float32]]
) -> None:
    """Store the vectors of texts, by hash; all chunks of a text have its vector."""
    db.execute("INSERT OR IGNORE INTO embedders (fingerprint) VALUES (?)", (fingerprint,))
    embedder = embedder_id(db, fingerprint)
    db.executemany(
        "INSERT OR REPLACE INTO vectors (embedder_id, text_hash, vector) VALUES (?, ?, ?)",
        [(embedder, of, row.astype(_STORED).tobytes()) for of, row in vectors.items()],
    )


def mark_failed(db: sqlite3.Connection, causes: dict[bytes, str]) -> None:
    """Note why texts have no vector, by hash."""
    db.executemany(
        "UPDATE chunks SET failure = ? WHERE text_hash = ?",
        [(cause, text_hash) for text_hash, cause in causes.items()],
    )


def failures(db: sqlite3.Connection, fingerprint: str) -> list[Skipped]:
    """The files that have chunks without a vector, each with the first cause."""
    rows = db.execute(
        "SELECT f.path, count(*), coalesce(min(c.failure), 'not embedded yet') FROM chunks c"
        " JOIN files f ON f.id = c.file_id WHERE NOT EXISTS"
        " (SELECT 1 FROM vectors v WHERE v.embedder_id = ? AND v.text_hash = c.text_hash)"
        " GROUP BY f.path ORDER BY f.path",
        (embedder_id(db, fingerprint),),
    )
    return [Skipped(path, cause) for path, _count, cause in rows]


def has_too_many(db: sqlite3.Connection, chunks: int) -> bool:
    """Whether so many vectors are kept that old ones should go."""
    (stored,) = db.execute("SELECT count(*) FROM vectors").fetchone()
    return int(stored) > 2 * chunks + _SPARE_VECTORS


def drop_spare_vectors(db: sqlite3.Connection, fingerprint: str) -> None:
    """Remove the oldest vectors that no chunk needs, so that they do not outnumber the others.

    Some are kept: a text that comes back, or an embedder, costs no call then.
    """
    (chunks,) = db.execute("SELECT count(*) FROM chunks").fetchone()
    db.execute(
        "DELETE FROM vectors WHERE id IN (SELECT v.id FROM vectors v WHERE v.embedder_id IS NOT ?"
        " OR NOT EXISTS (SELECT 1 FROM chunks c WHERE c.text_hash = v.text_hash)"
        " ORDER BY v.id DESC LIMIT -1 OFFSET ?)",
        (embedder_id(db, fingerprint), chunks + _SPARE_VECTORS),
    )


def forget(db: sqlite3.Connection) -> None:
    """Remove every vector, of every embedder."""
    db.execute("DELETE FROM vectors")


def count_embedded(db: sqlite3.Connection, fingerprint: str) -> int:
    """How many chunks have a vector."""
    (count,) = db.execute(
        "SELECT count(*) FROM chunks c JOIN vectors v ON v.text_hash = c.text_hash"
        " AND v.embedder_id = ?",
        (embedder_id(db, fingerprint),),
    ).fetchone()
    return int(count)


def hashes(db: sqlite3.Connection, fingerprint: str) -> list[bytes]:
    """The texts of chunks that have a vector, by their hash."""
    rows = db.execute(
        "SELECT DISTINCT c.text_hash FROM chunks c JOIN vectors v ON v.text_hash = c.text_hash"
        " AND v.embedder_id = ?",
        (embedder_id(db, fingerprint),),
    )
    return [text_hash for (text_hash,) in rows]


def of_texts(
    db: sqlite3.Connection, fingerprint: str, text_hashes: Sequence[bytes]
) -> dict[bytes, NDArray[np.float32]]:
    """The vectors of these texts, of those that have one."""
    embedder = embedder_id(db, fingerprint)
    found: dict[bytes, NDArray[np.float32]] = {}
    for text_hash in text_hashes:
        row = db.execute(
            "SELECT vector FROM vectors WHERE embedder_id = ? AND text_hash = ?",
            (embedder, text_hash),
        ).fetchone()
        if row is not None:
            found[text_hash] = np.frombuffer(row[0], dtype=_STORED).astype(np.float32)
    return found


def vector_rows(db: sqlite3.Connection, fingerprint: str) -> list[int]:
    """The chunks that have a vector, in ascending order."""
    rows = db.execute(
        "SELECT c.id FROM chunks c JOIN vectors v ON v.text_hash = c.text_hash"
        " AND v.embedder_id = ? ORDER BY c.id",
        (embedder_id(db, fingerprint),),
    )
    return [number for (number,) in rows]


def with_vector(db: sqlite3.Connection, fingerprint: str, chunk_ids: Sequence[int]) -> list[int]:
    """Those of these chunks that have a vector, in ascending order."""
    rows = db.execute(
        "SELECT c.id FROM chunks c JOIN vectors v ON v.text_hash = c.text_hash"
        " AND v.embedder_id = ? WHERE c.id IN (SELECT value FROM json_each(?)) ORDER BY c.id",
        (embedder_id(db, fingerprint), json.dumps(list(chunk_ids))),
    )
    return [number for (number,) in rows]


def load(db: sqlite3.Connection, fingerprint: str, chunk_ids: Sequence[int]) -> NDArray[np.float32]:
    """The vectors of chunks that have one, in ascending order of the chunks."""
    if not chunk_ids:
        return np.empty((0, 0), np.float32)
    rows = db.execute(
        "SELECT v.vector FROM chunks c JOIN vectors v ON v.text_hash = c.text_hash"
        " AND v.embedder_id = ? WHERE c.id IN (SELECT value FROM json_each(?)) ORDER BY c.id",
        (embedder_id(db, fingerprint), json.dumps(list(chunk_ids))),
    )
    stored = np.frombuffer(b"".join(blob for (blob,) in rows), dtype=_STORED)
    return stored.astype(np.float32).reshape(len(chunk_ids), -1)
