"""The terms that a document defines, and what it says of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from holodeck_backend_claude.retrieval.documents.markdown import Section, plain_title

LONGEST_TERM = 80
LONGEST_TEXT = 500
_MOST_WORDS = 8

_OPEN, _CLOSE = "\"“„«‘'", "\"”“»’'"
_GAP = r"\s{1,20}"  # bounded, so that a long run of blanks is not tried in every division
_VERBS = (
    rf"(?:shall{_GAP})?means?|(?:shall{_GAP})?refers?{_GAP}to|(?:is|are){_GAP}defined{_GAP}as"
    rf"|includes?|ha(?:s|ve){_GAP}the{_GAP}(?:same{_GAP})?meaning|denotes?"
)
_QUOTED = rf"[{_OPEN}](?P<quoted>[^{_OPEN}{_CLOSE}\n]{{1,{LONGEST_TERM}}})[{_CLOSE}]"
_MARKED = rf"\*{{1,3}}(?P<marked>[^*\n]{{1,{LONGEST_TERM}}})\*{{1,3}}"
_TERM = rf"(?:{_QUOTED}|{_MARKED})"

# "Goods" means … ; **goods** refers to …
_MEANS = re.compile(
    rf"{_TERM}\s{{0,20}},?{_GAP}(?:{_VERBS})\b[\s,:]*(?P<text>[^\n]+(?:\n(?!\s*\n)[^\n]+)*)"
)
# - **Goods**: …  and  **Goods:** …
_LABELLED = re.compile(
    rf"^[ \t]*(?:[-*+][ \t]+)?"
    rf"(?:{_QUOTED}|\*{{2,3}}(?P<marked>[^*:\n]{{1,{LONGEST_TERM}}}):?\*{{2,3}})"
    r"[ \t]*(?::|[–—]|-(?=[ \t])|(?<=:\*\*))[ \t]*"
    r"(?P<text>\S[^\n]*(?:\n(?![ \t]*(?:[-*+][ \t]|\n))[^\n]+)*)",
    re.MULTILINE,
)
# … the seller of the goods (the "Vendor") …
_IN_BRACKETS = re.compile(
    rf"\((?:hereinafter{_GAP}|collectively,?{_GAP}|each,?{_GAP})?"
    rf"(?:called{_GAP}|referred{_GAP}to{_GAP}as{_GAP})?(?:(?:the|an?){_GAP})?{_QUOTED}\)"
)
# under "Definitions": Goods: …  or  Goods - …
_PLAIN = re.compile(
    rf"^[ \t]*(?:[-*+][ \t]+|\d+[.)][ \t]+)?(?P<plain>[^\W\d_][^:\n–—|]{{0,{LONGEST_TERM - 1}}}?)"
    rf"[ \t]*(?::|[ \t][–—-])[ \t]+(?P<text>\S[^\n]*)",
    re.MULTILINE,
)
_GLOSSARY = re.compile(r"\b(?:definitions?|glossary|interpretation|terms and definitions)\b", re.I)
_SENTENCE = re.compile(r"[^.!?\n]*(?:[.!?](?!\s)[^.!?\n]*)*")


@dataclass(frozen=True)
class Definition:
    """A term and what a document says it is.

    Attributes:
        term: As it is written there.
        text: What it means, at most 500 characters.
    """

    term: str
    text: str


def definitions_in(sections: Iterable[Section]) -> list[Definition]:
    """The definitions of a document, each term once, in the order they stand in.

    Recognised are ``"Term" means …`` (or another verb of that kind; bold and italics serve as
    quotes), ``**Term**: …``, ``… (the "Term")``, and under a heading such as Definitions or
    Glossary also ``Term: …`` and tables of two columns.
    """
    found: dict[str, Definition] = {}
    for section in sections:
        for term, text in _of(section):
            name = plain_title(term).strip(" .,;:")
            meaning = " ".join(text.split())[:LONGEST_TEXT]
            if name and meaning and len(name.split()) <= _MOST_WORDS:
                found.setdefault(name.casefold(), Definition(name, meaning))
    return list(found.values())


def defines(text: str) -> bool:
    """Whether a text defines a term, by its words alone."""
    return any(pattern.search(text) for pattern in (_MEANS, _LABELLED, _IN_BRACKETS))


def is_glossary(section: Section) -> bool:
    """Whether a section is there to define terms, going by its headings."""
    return any(_GLOSSARY.search(title) for title in section.chain)


def _of(section: Section) -> Iterator[tuple[str, str]]:
    glossary = is_glossary(section)
    for block in section.blocks:
        if block.kind == "table" and glossary:
            yield from _in_table(block.text)
        if block.kind != "text":
            continue
        for pattern in (_MEANS, _LABELLED, *([_PLAIN] if glossary else [])):
            for match in pattern.finditer(block.text):
                groups = match.groupdict()
                term = groups.get("quoted") or groups.get("marked") or groups.get("plain") or ""
                yield term, match["text"]
        for match in _IN_BRACKETS.finditer(block.text):
            yield match["quoted"], _sentence_around(block.text, match.start())


def _in_table(text: str) -> Iterator[tuple[str, str]]:
    for line in text.split("\n")[2:]:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 2 and all(cells):
            yield cells[0], cells[1]


def _sentence_around(text: str, place: int) -> str:
    """The sentence at a place, as far as its beginning and its end are near."""
    first = max(0, place - LONGEST_TEXT)
    last = place + LONGEST_TEXT
    marks = (". ", ".\n", "\n\n", "; ")
    start = max(first, *(text.rfind(mark, first, place) + 1 for mark in marks))
    sentence = _SENTENCE.match(text, start, last)
    end = max(place, sentence.end() if sentence else place)
    return text[start : max(end, text.find(")", place, last) + 1)].strip(" .\n")
