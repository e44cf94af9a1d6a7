"""The vectors of an index in memory, for exact search; follows what other processes change."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.retrieval.indexing import store, vectors

_Floats: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True)
class Matrix:
    """All vectors of one state of an index; never changed once made.

    Attributes:
        state: The index and its generation.
        chunk_ids: The chunk of each row, in ascending order.
        rows: Vectors of length 1, of shape ``(n, dimensions)``.
    """

    state: tuple[str, int]
    chunk_ids: NDArray[np.int64]
    rows: _Floats

    def nearest(self, query: _Floats, limit: int) -> list[tuple[int, float]]:
        """The chunks closest to a unit vector, with their cosines, highest first."""
        if not len(self.chunk_ids):
            return []
        cosines = self.rows @ query
        if limit < len(cosines):
            best = np.argpartition(cosines, -limit)[-limit:]
        else:
            best = np.arange(len(cosines))
        ordered = best[np.lexsort((best, -cosines[best]))]
        return list(zip(self.chunk_ids[ordered].tolist(), cosines[ordered].tolist(), strict=True))

    def cosines(self, query: _Floats, chunk_ids: list[int]) -> dict[int, float]:
        """The cosines of these chunks, as far as they have a vector."""
        if not len(self.chunk_ids) or not chunk_ids:
            return {}
        wanted = np.array(chunk_ids, np.int64)
        places = np.minimum(np.searchsorted(self.chunk_ids, wanted), len(self.chunk_ids) - 1)
        there = self.chunk_ids[places] == wanted
        values = self.rows[places[there]] @ query
        return dict(zip(wanted[there].tolist(), values.tolist(), strict=True))


def matrix_of(db: sqlite3.Connection, fingerprint: str, chunk_ids: Sequence[int]) -> Matrix:
    """The vectors of some chunks only, of those that have one."""
    found = vectors.with_vector(db, fingerprint, chunk_ids)
    rows = vectors.load(db, fingerprint, found)
    return Matrix(store.state(db), np.array(found, np.int64), rows)


class MatrixCache:
    """The matrix of one embedder, refreshed when the index has changed.

    Args:
        fingerprint: What the vectors are stored under.
    """

    def __init__(self, fingerprint: str) -> None:
        self._fingerprint = fingerprint
        self._matrix: Matrix | None = None
        self._loading = threading.Lock()

    def current(self, db: sqlite3.Connection) -> Matrix:
        """The matrix of what ``db`` sees."""
        state = store.state(db)
        matrix = self._matrix
        if matrix is None or matrix.state != state:
            with self._loading:  # one thread loads, the others wait for it
                matrix = self._matrix
                if matrix is None or matrix.state != state:
                    matrix = self._matrix = self._load(db, state, matrix)
        return matrix

    def _load(self, db: sqlite3.Connection, state: tuple[str, int], old: Matrix | None) -> Matrix:
        """Read the rows that are new, and take over the others."""
        ids = np.array(vectors.vector_rows(db, self._fingerprint), np.int64)
        if old is None or old.state[0] != state[0] or not len(old.chunk_ids):
            return Matrix(state, ids, vectors.load(db, self._fingerprint, ids.tolist()))
        is_old = np.isin(ids, old.chunk_ids, assume_unique=True)
        if is_old.all() and len(ids) == len(old.chunk_ids):
            return Matrix(state, ids, old.rows)
        rows = np.empty((len(ids), old.rows.shape[1]), np.float32)
        rows[is_old] = old.rows[np.searchsorted(old.chunk_ids, ids[is_old])]
        if not is_old.all():
            rows[~is_old] = vectors.load(db, self._fingerprint, ids[~is_old].tolist())
        return Matrix(state, ids, rows)
