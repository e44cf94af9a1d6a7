"""Text and queries for the FTS5 keyword index: every script is searchable, any query is safe."""

from __future__ import annotations

import re
import unicodedata

TOKENIZER = "porter unicode61 remove_diacritics 0 categories 'L* N* Co Mn Mc'"
"""Marks belong to their word, or the words of India's scripts fall apart; accents are ours."""

MOST_QUERY_CHARS = 8_000
"""What stands behind is not searched for."""

_MOST_WORDS = 256
_QUOTES = '"*'

_UNSPACED = re.compile(  # scripts that set no spaces between words
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u0f00-\u0fff"  # Tibetan
    "\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f"  # Myanmar
    "\u1780-\u17ff"  # Khmer
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3"  # Hangul, whose words carry endings
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
    "]+"
)
_OPTIONAL_MARKS = re.compile(  # accents, and the vowel points of Hebrew and Arabic
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u0640\u064b-\u065f\u0670]+"
)

_FUNCTION_WORDS = """
    a about above after again against all also am an and any are as at be because been before
    being below between both but by can could did do does doing down during each few for from
    further get give had has have having he her here hers him his how i if in into is it its
    itself just let may me might more most must my no nor not now of off on once only or other
    our ours out over own please s same shall she should so some such t than that the their
    theirs them then there these they this those through to too under until up upon us very was
    we were what when where which while who whom whose why will with within without would you
    your yours
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())


def index_text(text: str) -> str:
    """A text as the keyword index takes it.

    Case, accents and compatibility forms (full-width letters, ligatures) are folded. Where a
    script sets no spaces, each two neighbouring characters become a word of their own.
    """
    return _UNSPACED.sub(lambda run: f" {' '.join(_pairs(run[0], to_index=True))} ", folded(text))


def match_expression(query: str) -> str:
    """An FTS5 expression that finds any word of a query; empty where it holds none.

    Stop words are left out unless there is nothing else. A word that comes twice counts twice.
    """
    words = _words(folded(query[:MOST_QUERY_CHARS]))
    wanted = [word for word in words if word.strip(_QUOTES) not in STOP_WORDS] or words
    return " OR ".join(wanted[:_MOST_WORDS])


def phrase_expression(text: str) -> str:
    """An FTS5 expression that finds the words of a folded text next to each other, in order."""
    words = _words(text[:MOST_QUERY_CHARS])
    if len(words) < 2:
        return "".join(words)
    return f'"{" ".join(word.strip(_QUOTES) for word in words)}"'


def words_of(text: str) -> str:
    """The words of a text, folded, in their order, with a blank around each."""
    kept = "".join(char if _is_word_char(char) else " " for char in folded(text))
    return f" {' '.join(kept.split())} " if kept.strip() else ""


def _words(text: str) -> list[str]:
    """The words of a folded text, quoted; a lone character of a script without spaces is open."""
    spaced = "".join(char if _is_word_char(char) else " " for char in text)
    quoted: list[str] = []
    for part in _UNSPACED.sub(lambda run: f" {run[0]} ", spaced).split():
        if not _UNSPACED.match(part):
            quoted.append(f'"{part}"')
        elif len(part) == 1:
            quoted.append(f'"{part}"*')
        else:
            quoted += [f'"{pair}"' for pair in _pairs(part, to_index=False)]
    return quoted


def _is_word_char(char: str) -> bool:
    return unicodedata.category(char)[0] in "LN" or unicodedata.category(char) in {"Mn", "Mc"}


def _pairs(run: str, *, to_index: bool) -> list[str]:
    """Each two neighbours; the index also holds the last character, so that it is found alone."""
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    return [*pairs, run[-1]] if to_index else pairs


def folded(text: str) -> str:
    """A text without differences of case, of accents and of compatibility forms."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", _OPTIONAL_MARKS.sub("", decomposed))
