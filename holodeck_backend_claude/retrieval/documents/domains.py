"""Numbered parts of documents that have no headings for them: (a), § 12, Step 3, Article IV.

Which numbers stand for parts, and in which order they nest, differs by kind of document. A part
becomes a section below the heading it stands under.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from holodeck_backend_claude.retrieval.documents.markdown import Block, Section

Domain: TypeAlias = Literal[
    "none", "us_legislative", "au_legislative", "academic", "technical", "legal_contract"
]

_LONGEST_TITLE = 80
_ROMAN = r"(?:x{0,3}(?:ix|iv|v?i{0,3}))"
_NUMERALS = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")


@dataclass(frozen=True)
class Level:
    """One level of parts.

    Attributes:
        pattern: The beginning of a line that begins such a part; ``number`` is its number, and
            ``word`` what stands before it, where there are several words for it.
        label: How the part is named, made of word and number.
    """

    pattern: re.Pattern[str]
    label: str

    def label_of(self, match: re.Match[str]) -> str:
        """The name of the part that this line begins."""
        groups = match.groupdict()
        word = (groups.get("word") or "").capitalize()
        return self.label.format(number=groups["number"], word=word)


def _level(number: str, label: str = "{number}", *, before: str = "", after: str = "") -> Level:
    pattern = rf"[ \t]*(?:[*_]{{1,3}})?{before}(?P<number>{number}){after}"
    return Level(re.compile(pattern), label)


def _in_brackets(number: str) -> Level:
    return _level(number, "({number})", before=r"\(", after=r"\)(?=\s)")


def _named(words: str, number: str = r"[IVXLC]{1,12}|\d{1,6}[A-Z]?|[A-Z]") -> Level:
    return _level(
        number,
        "{word} {number}",
        before=rf"(?P<word>(?i:{words}))\s{{1,20}}",
        after=r"\b(?=[\s.:—–*_-]|$)",
    )


_LOWER = _in_brackets("[a-z]")
_UPPER = _in_brackets("[A-Z]")
_DIGIT = _in_brackets(r"\d{1,3}[A-Z]?")
_SMALL_ROMAN = _in_brackets(rf"(?=[ivx]){_ROMAN}")
_DOTTED = _level(r"\d{1,3}(?:\.\d{1,3}){1,4}", after=r"\.?(?=\s+\S)")
_APPENDIX_OR_NUMBER = _level(
    r"(?i:appendix)\s{1,20}[A-Z\d]{1,6}\b|\d{1,3}(?=\.?\s+[A-Z])", "{number}"
)

DOMAINS: dict[Domain, tuple[Level, ...]] = {
    "none": (),
    "us_legislative": (
        _named("Title"),
        _named("Chapter"),
        _named("Subchapter"),
        _named("Part"),
        _level(
            r"\d{1,6}[A-Za-z]?(?:[.-]\d{1,6}){0,6}",
            "§ {number}",
            before=r"(?:§{1,2}\s{0,20}|(?i:sec(?:tion|\.))\s{1,20})",
            after=r"\b",
        ),
        _LOWER,
        _DIGIT,
        _UPPER,
        _SMALL_ROMAN,
    ),
    "au_legislative": (
        _named("Chapter"),
        _named("Part|Schedule"),
        _named("Division"),
        _named("Subdivision"),
        _level(r"\d{1,4}[A-Z]{0,3}", "s {number}", after=r"(?=\s{1,3}[A-Z])"),
        _DIGIT,
        _LOWER,
        _SMALL_ROMAN,
        _UPPER,
    ),
    "academic": (_APPENDIX_OR_NUMBER, _DOTTED),
    "technical": (_APPENDIX_OR_NUMBER, _DOTTED, _named("Step", r"\d{1,6}")),
    "legal_contract": (
        _named("Article|Schedule|Exhibit|Annex"),
        _level(
            r"\d{1,3}(?:\.\d{1,3}){1,6}",
            before=r"(?:(?i:section|clause)\s{1,20}|§\s{0,20})?",
            after=r"\b",
        ),
        _LOWER,
        _SMALL_ROMAN,
        _UPPER,
    ),
}
"""The levels of each kind of document, the outermost first."""


def subdivided(section: Section, domain: Domain, *, depth: int | None = None) -> list[Section]:
    """A section, cut at the numbered parts in its text; alone where there are none.

    Args:
        section: What stands under one heading.
        domain: The kind of document.
        depth: How many of its levels count, from the outermost on; None means all.
    """
    levels = DOMAINS[domain]
    if not levels:
        return [section]
    cut = _Cut(section, levels, len(levels) if depth is None else depth)
    for block in section.blocks:
        cut.add(block)
    return cut.found


@dataclass(frozen=True)
class _Part:
    """A part that a line begins; its title is its name and the words behind it, if they are few."""

    level: int
    number: str
    label: str
    title: str

    @classmethod
    def of(cls, index: int, level: Level, match: re.Match[str], line: str) -> _Part:
        label = level.label_of(match)
        rest = line[match.end() :].strip(" \t*_.:—–-)")
        title = f"{label} {rest}" if rest and len(rest) <= _LONGEST_TITLE else label
        return cls(index, match["number"], label, title)


class _Cut:
    """One section on its way to several."""

    def __init__(self, section: Section, levels: Sequence[Level], depth: int) -> None:
        self._whole = section
        self._levels = levels
        self._depth = depth
        self._open: dict[int, _Part] = {}  # by level
        self.found = [replace(section, blocks=[])]

    def add(self, block: Block) -> None:
        if block.kind != "text":
            self.found[-1].blocks.append(block)
            return
        lines: list[str] = []
        for line in block.text.split("\n"):
            part = self._part(line)
            if part is not None and self._enter(part):
                self._close(lines)
                lines = []
                self._begin()
            lines.append(line)
        self._close(lines)

    def _close(self, lines: list[str]) -> None:
        text = "\n".join(lines).strip("\n")
        if text.strip():
            self.found[-1].blocks.append(Block("text", text))

    def _part(self, line: str) -> _Part | None:
        """The part that a line begins, if it begins one."""
        fitting = [
            _Part.of(index, level, match, line)
            for index, level in enumerate(self._levels)
            if (match := level.pattern.match(line))
        ]
        if len(fitting) < 2:
            return fitting[0] if fitting else None
        # "(i)" comes after "(h)", or begins a list of its own
        goes_on = [
            part
            for part in fitting
            if part.level in self._open and _follows(self._open[part.level].number, part.number)
        ]
        begins = [
            part for part in fitting if part.level not in self._open and _is_first(part.number)
        ]
        return (goes_on or begins or fitting)[0]

    def _enter(self, part: _Part) -> bool:
        """Note where the document is; whether that is a section of its own."""
        self._open = {at: before for at, before in self._open.items() if at < part.level}
        self._open[part.level] = part
        return part.level < self._depth

    def _begin(self) -> None:
        parts = [self._open[level] for level in sorted(self._open)]
        self.found.append(
            Section(
                self._whole.level + parts[-1].level + 1,
                "",
                (*self._whole.chain, *(part.title for part in parts)),
                _identifier([part.label for part in parts]),
            )
        )


def _identifier(labels: Sequence[str]) -> str:
    """``§ 12(a)(1)``: what names the part in the words of such documents."""
    text = ""
    for label in labels:
        text += label if label.startswith("(") or not text else f", {label}"
    return text


def _is_first(number: str) -> bool:
    return number.lower() in ("a", "1", "i")


def _follows(before: str, number: str) -> bool:
    return any(number in after for after in (list(make(before)) for make in _SUCCESSORS))


def _next_number(number: str) -> Iterator[str]:
    if number.isdecimal():
        yield str(int(number) + 1)


def _next_letter(letter: str) -> Iterator[str]:
    if len(letter) == 1 and letter.isalpha() and letter not in "zZ":
        yield chr(ord(letter) + 1)


def _next_numeral(numeral: str) -> Iterator[str]:
    ordered = [tens + ones for tens in ("", "x", "xx", "xxx") for ones in _NUMERALS]
    if numeral in ordered[1:-1]:
        yield ordered[ordered.index(numeral) + 1]


_SUCCESSORS: tuple[Callable[[str], Iterator[str]], ...] = (
    _next_number, _next_letter, _next_numeral,
)  # fmt: skip
