"""BERT's uncased WordPiece, in the standard library: token counts for chunks, ids for the model.

The steps are those of the tokenizer that BERT was published with: clean, set ideographs apart,
strip accents, lower-case, split at white space and punctuation, then take the longest known piece
from the left. Chunk borders depend on these counts, so they are the same on every machine.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from itertools import groupby
from typing import NamedTuple

PAD, UNK, CLS, SEP = 0, 100, 101, 102

_LONGEST_WORD = 100  # longer ones are unknown to BERT
_LONGEST_CACHED = 64
_CHARS_PER_UNKNOWN_TOKEN = 2

_SPACES = " \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_IDEOGRAPHS = (
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b73f"
    "\U0002b740-\U0002b81f\U0002b820-\U0002ceaf\U0002f800-\U0002fa1f"
)
_UNITS = re.compile(f"[{_IDEOGRAPHS}]|[^{_SPACES}{_IDEOGRAPHS}]+")
_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


class _Tokens(NamedTuple):
    ids: tuple[int, ...]
    length: int


def token_ids(text: str, limit: int | None = None) -> list[int]:
    """The ids of the word pieces of a text, without CLS and SEP.

    Args:
        text: Any text.
        limit: Stop once there are so many.
    """
    ids: list[int] = []
    for unit in _UNITS.finditer(text):
        ids.extend(_tokens(unit[0]).ids)
        if limit is not None and len(ids) >= limit:
            return ids[:limit]
    return ids


def count_tokens(text: str) -> int:
    """How many tokens a text has.

    A word that the vocabulary cannot spell is one token to BERT, whatever its length; here it
    counts as one for every two characters, so that no chunk grows without bound.
    """
    return sum(_tokens(unit[0]).length for unit in _UNITS.finditer(text))


def _tokens(unit: str) -> _Tokens:
    return _cached_tokens(unit) if len(unit) <= _LONGEST_CACHED else _make_tokens(unit)


def _make_tokens(unit: str) -> _Tokens:
    """The tokens of what stands between white space."""
    ids: list[int] = []
    length = 0
    for word in _words(_plain(unit)):
        pieces = _pieces(word)
        ids.extend(pieces or (UNK,))
        length += len(pieces) or -(-len(word) // _CHARS_PER_UNKNOWN_TOKEN)
    return _Tokens(tuple(ids), length)


_cached_tokens = lru_cache(maxsize=1 << 16)(_make_tokens)


def _plain(unit: str) -> str:
    """Without control characters and accents, in lower case."""
    if unit.isascii() and unit.isprintable():
        return unit.lower()
    kept = "".join(char for char in unit if not _is_dropped(char))
    decomposed = unicodedata.normalize("NFD", kept)
    return "".join(c.lower() for c in decomposed if unicodedata.category(c) != "Mn")


def _is_dropped(char: str) -> bool:
    return char == "\ufffd" or unicodedata.category(char) in {"Cc", "Cf", "Co", "Cs"}


def _words(unit: str) -> Iterator[str]:
    """The runs between punctuation, and each punctuation mark by itself."""
    if unit.isalnum():
        yield unit
        return
    for is_mark, run in groupby(unit, key=_is_punctuation):
        if is_mark:
            yield from run
        else:
            yield "".join(run)


def _is_punctuation(char: str) -> bool:
    return char in _ASCII_PUNCTUATION or unicodedata.category(char).startswith("P")


def _pieces(word: str) -> tuple[int, ...]:
    """The longest known pieces from the left; none if the word cannot be spelt with them."""
    if len(word) > _LONGEST_WORD:
        return ()
    vocabulary = _vocabulary()
    found: list[int] = []
    start = 0
    while start < len(word):
        prefix = "##" if start else ""
        for end in range(len(word), start, -1):
            piece = vocabulary.get(prefix + word[start:end])
            if piece is not None:
                break
        else:
            return ()
        found.append(piece)
        start = end
    return tuple(found)


@cache
def _vocabulary() -> dict[str, int]:
    source = files(__package__) / "data" / "bert-base-uncased-vocab.txt"
    lines = source.read_text(encoding="utf-8").split("\n")
    return {piece: number for number, piece in enumerate(lines) if piece}
