"""Where a document refers to another of its own sections."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from holodeck_backend_claude.retrieval.documents.markdown import Section

_NUMBER = r"(?:\d{1,6}[A-Za-z]?(?:\.\d{1,6}){0,6}|[IVXLC]{1,12}|[A-Z])(?:\([A-Za-z\d]{1,4}\)){0,8}"
_WORDS = (
    r"(?:sub)?sections?|sec\.|articles?|clauses?|chapters?|parts?"
    r"|appendix|schedule|exhibit|annex|division"
)
_NAMED = re.compile(
    rf"(?<![\w.])(?P<label>(?:(?P<word>(?i:{_WORDS}))\s{{1,20}}|§§?\s{{0,20}})(?P<number>{_NUMBER}))(?![\w(])"
)
_LINK = re.compile(r"(?<!!)\[(?P<label>[^\]\n]{1,200})\]\(#(?P<anchor>[^)\s]{1,200})\)")
_LEADING_NUMBER = re.compile(
    rf"(?:(?P<word>(?i:{_WORDS}))\s{{1,20}}|§§?\s{{0,20}}|s\s)?(?P<number>{_NUMBER})(?=[\s.:)—–-]|$)"
)
MOST_REFERENCES = 20
"""Of one passage."""


@dataclass(frozen=True)
class Reference:
    """A place in a passage that leads to a section of the same document.

    Attributes:
        label: The words that refer, such as ``Section 4.2``.
        section_id: The section.
    """

    label: str
    section_id: str


class Places:
    """The sections of a document by what others may call them.

    Args:
        sections: All of them, in their order; of two that are called alike the first one counts.
    """

    def __init__(self, sections: Iterable[Section]) -> None:
        self._by_number: dict[str, str] = {}
        self._anchors: set[str] = set()
        for section in sections:
            if not section.anchor:
                continue
            self._anchors.add(section.anchor)
            for number in _numbers_of(section):
                self._by_number.setdefault(number, section.anchor)

    def referred_to(self, text: str, *, from_section: str) -> list[Reference]:
        """The sections that a passage refers to, each once, without its own.

        Args:
            text: The passage.
            from_section: The id of the section it is of.
        """
        found: dict[str, Reference] = {}
        for match in _LINK.finditer(text):
            if match["anchor"] in self._anchors:
                found.setdefault(match["anchor"], Reference(match["label"], match["anchor"]))
        for match in _NAMED.finditer(text):
            section = self._find(match["number"])
            if section is not None:
                label = " ".join(match["label"].split())
                found.setdefault(section, Reference(label, section))
        found.pop(from_section, None)
        return list(found.values())[:MOST_REFERENCES]

    def _find(self, number: str) -> str | None:
        """The section of a number, or of the part of it that has one: 4.2(a) is in 4.2."""
        wanted = number.casefold()
        while wanted:
            if wanted in self._by_number:
                return self._by_number[wanted]
            if "(" not in wanted:
                return None
            wanted = wanted[: wanted.rindex("(")]
        return None


def _numbers_of(section: Section) -> Iterable[str]:
    """The numbers that a section has in its title or id."""
    for text in (section.chain[-1] if section.chain else "", section.anchor.split(", ")[-1]):
        match = _LEADING_NUMBER.match(text)
        if match:
            yield match["number"].casefold()
