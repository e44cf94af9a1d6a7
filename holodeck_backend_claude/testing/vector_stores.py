"""The contracts of a vector store, numbered; each runs on a fresh collection, without pytest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID, uuid4

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.retrieval import VectorStore

OpenStore: TypeAlias = Callable[[str], VectorStore]
"""``open_store(collection)`` gives the store with that collection, whether or not it is there."""

Vector: TypeAlias = NDArray[np.float32]

_SIZE = 8


@dataclass(frozen=True)
class _Place:
    """A collection of its own, which can be opened more than once."""

    open_store: OpenStore
    name: str

    def opened(self) -> VectorStore:
        return self.open_store(self.name)


_Contract: TypeAlias = Callable[[VectorStore, _Place], Awaitable[None]]


async def check_vector_store(open_store: OpenStore, *, dimensions: int = 1_536) -> None:
    """Hold a store against every contract.

    Args:
        open_store: Gives the store with a collection of that name.
        dimensions: The length of the longest vectors that are tried.

    Raises:
        AssertionError: A contract does not hold; its number and title are in the text.
    """
    for number, (title, contract) in enumerate(_contracts(dimensions), start=1):
        place = _Place(open_store, f"c{uuid4().hex[:20]}")
        store = place.opened()
        try:
            await contract(store, place)
        except Exception as broken:
            raise AssertionError(f"contract {number}, {title}: {broken!r}") from broken
        finally:
            await store.close()
            await _removed(place)


async def _removed(place: _Place) -> None:
    store = place.opened()
    await store.drop()
    await store.close()


def _contracts(dimensions: int) -> list[tuple[str, _Contract]]:
    async def long_vectors(store: VectorStore, _: _Place) -> None:
        vectors = made(20, dimensions)
        await filled(store, vectors, dimensions)
        for number, vector in vectors.items():
            _same(await store.nearest(vector, 1), [number])

    return [
        ("there is no mark where there is no collection", _no_mark),
        ("the mark is the one that was written", _mark),
        ("a new collection is empty", _empty),
        ("a collection that is made again is empty", _made_again),
        ("the same vector stands first", _itself_first),
        ("the nearest have the highest cosines, the highest first", _nearest_first),
        ("no more are found than were asked for, and no more than there are", _limits),
        ("a vector that is put again takes the place of the old one", _replaced),
        ("what is removed is not found", _removed_ones),
        ("what is removed in several calls is not found, and the others are", _removed_often),
        ("an id that is not there is passed over", _unknown_ids),
        ("those that are there are told from those that are not", _there),
        ("500 vectors are taken at once", _many),
        ("vectors may be long", long_vectors),
        ("two collections are apart", _apart),
        ("what was put is there after the store was closed", _kept),
        ("a collection can be removed, and removed again", _dropped),
        ("calls may run at once", _at_once),
        ("it can be closed twice", _closed_twice),
    ]


def made(count: int, size: int = _SIZE, *, seed: int = 7) -> dict[UUID, Vector]:
    """So many vectors of length 1, the same at each call but for their ids."""
    rows = np.random.default_rng(seed).standard_normal((count, size)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return {uuid4(): row for row in rows}


async def filled(store: VectorStore, vectors: dict[UUID, Vector], size: int = _SIZE) -> None:
    """A new collection with these vectors."""
    await store.create("mark", dimensions=size)
    await store.put(vectors)


def by_cosine(vectors: dict[UUID, Vector], query: Vector) -> list[UUID]:
    """The ids in the order that a search has to give them in."""
    return sorted(vectors, key=lambda number: -float(vectors[number] @ query))


def _same(found: object, expected: object) -> None:
    if found != expected:
        raise AssertionError(f"{found!r} instead of {expected!r}")


def _holds(found: set[UUID], least: set[UUID]) -> None:
    if missing := least - found:
        raise AssertionError(f"{len(missing)} of {len(least)} are not found")


async def _no_mark(store: VectorStore, _: _Place) -> None:
    _same(await store.mark(), None)


async def _mark(store: VectorStore, _: _Place) -> None:
    mark = 'agent/tool\'s "mark" | größe ' + "x" * 400
    await store.create(mark, dimensions=_SIZE)
    _same(await store.mark(), mark)


async def _empty(store: VectorStore, _: _Place) -> None:
    await store.create("mark", dimensions=_SIZE)
    [query] = made(1).values()
    _same(await store.nearest(query, 10), [])


async def _made_again(store: VectorStore, _: _Place) -> None:
    vectors = made(5)
    await filled(store, vectors)
    await store.create("another", dimensions=_SIZE + 1)
    [query] = made(1, _SIZE + 1).values()
    _same(await store.nearest(query, 10), [])
    _same(await store.has(list(vectors)), set())
    _same(await store.mark(), "another")


async def _itself_first(store: VectorStore, _: _Place) -> None:
    vectors = made(50)
    await filled(store, vectors)
    for number, vector in vectors.items():
        _same((await store.nearest(vector, 3))[0], number)


async def _nearest_first(store: VectorStore, _: _Place) -> None:
    vectors = made(200)
    await filled(store, vectors)
    for query in made(5, seed=8).values():
        _same(await store.nearest(query, 20), by_cosine(vectors, query)[:20])


async def _limits(store: VectorStore, _: _Place) -> None:
    vectors = made(5)
    await filled(store, vectors)
    [query] = made(1, seed=8).values()
    _same(len(await store.nearest(query, 3)), 3)
    _same(await store.nearest(query, 1_000), by_cosine(vectors, query))


async def _replaced(store: VectorStore, _: _Place) -> None:
    vectors = made(5)
    await filled(store, vectors)
    changed = next(iter(vectors))
    vectors[changed] = -vectors[changed]
    await store.put({changed: vectors[changed]})
    _same(await store.nearest(vectors[changed], 10), by_cosine(vectors, vectors[changed]))


async def _removed_ones(store: VectorStore, _: _Place) -> None:
    vectors = made(5)
    await filled(store, vectors)
    gone = next(iter(vectors))
    query = vectors.pop(gone)
    await store.remove([gone])
    _same(await store.nearest(query, 10), by_cosine(vectors, query))


async def _removed_often(store: VectorStore, _: _Place) -> None:
    vectors = made(30)
    await filled(store, vectors)
    for gone in list(vectors)[:20:5]:
        del vectors[gone]
        await store.remove([gone])
    await store.put(more := made(3, seed=9))
    vectors |= more
    for query in vectors.values():
        _same(await store.nearest(query, 40), by_cosine(vectors, query))


async def _unknown_ids(store: VectorStore, _: _Place) -> None:
    vectors = made(3)
    await filled(store, vectors)
    await store.remove([uuid4(), next(iter(vectors)), uuid4()])
    await store.remove([])
    await store.put({})
    _same(len(await store.has(list(vectors))), 2)


async def _there(store: VectorStore, _: _Place) -> None:
    vectors = made(3)
    await filled(store, vectors)
    _same(await store.has([*vectors, uuid4()]), set(vectors))
    _same(await store.has([]), set())


async def _many(store: VectorStore, _: _Place) -> None:
    vectors = made(500)
    await filled(store, vectors)
    await store.put(more := made(500, seed=8))
    [query] = made(1, seed=9).values()
    _holds(set(await store.nearest(query, 1_000)), set(by_cosine(vectors | more, query)[:400]))


async def _apart(store: VectorStore, place: _Place) -> None:
    other = _Place(place.open_store, f"{place.name}x")
    vectors = made(3)
    await filled(store, vectors)
    await store.close()
    second = other.opened()
    try:
        _same(await second.mark(), None)
        await second.create("mark", dimensions=_SIZE)
        _same(await second.has(list(vectors)), set())
    finally:
        await second.drop()
        await second.close()
    again = place.opened()
    try:
        _same(await again.has(list(vectors)), set(vectors))
    finally:
        await again.close()


async def _kept(store: VectorStore, place: _Place) -> None:
    vectors = made(10)
    await filled(store, vectors)
    await store.close()
    again = place.opened()
    try:
        _same(await again.mark(), "mark")
        for query in vectors.values():
            _same(await again.nearest(query, 10), by_cosine(vectors, query))
    finally:
        await again.close()


async def _dropped(store: VectorStore, _: _Place) -> None:
    await filled(store, made(3))
    await store.drop()
    await store.drop()
    _same(await store.mark(), None)


async def _at_once(store: VectorStore, _: _Place) -> None:
    vectors = made(40)
    await filled(store, {})
    parts = [dict(list(vectors.items())[start : start + 10]) for start in range(0, 40, 10)]
    await asyncio.gather(*(store.put(part) for part in parts))
    queries = list(vectors.values())[:8]
    found = await asyncio.gather(*(store.nearest(query, 5) for query in queries))
    _same(found, [by_cosine(vectors, query)[:5] for query in queries])


async def _closed_twice(store: VectorStore, _: _Place) -> None:
    await store.mark()
    await store.close()
    await store.close()
