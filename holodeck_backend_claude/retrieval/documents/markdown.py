"""A Markdown document as sections below their headings, each with its blocks of text.

Only what decides about sections and about what must not be torn is recognised: headings of both
kinds, fenced code, tables, front matter, and HTML in which ``#`` begins no heading.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

BlockKind = Literal["text", "fence", "table"]

_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r"([ \t]*)(`{3,}(?=[^`]*$)|~{3,})")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_NO_SETEXT = re.compile(r" {4}|\t| {0,3}(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])")
_RAW_HTML = re.compile(r" {0,3}<(?:(!--)|(pre|script|style|textarea)(?=[\s>]|$))", re.IGNORECASE)
_GIVEN_ANCHOR = re.compile(r"[ \t]*\{#([^\s{}]+)[^{}]*\}$")
_LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_EMPHASIS = re.compile(r"(\*{1,3}|_{1,3}|`+|~~)(?=\S)(.+?)(?<=\S)\1")
LONGEST_TITLE = 200
_LONGEST_RAW_TITLE = 1_000


@dataclass(frozen=True)
class Block:
    """Lines that belong together: a paragraph or list, a fenced code block, a table."""

    kind: BlockKind
    text: str


@dataclass
class Section:
    """What stands under one heading, before the next heading of any level.

    Attributes:
        level: 1 to 6; 0 for the text before the first heading.
        heading: The heading as it is written, empty at level 0.
        chain: The titles of the headings above the text, its own last.
        anchor: What a link to the heading names, as GitHub makes it; empty at level 0.
        blocks: The text.
    """

    level: int = 0
    heading: str = ""
    chain: tuple[str, ...] = ()
    anchor: str = ""
    blocks: list[Block] = field(default_factory=list)


def sections(text: str) -> list[Section]:
    """Cut a document into its sections, in their order; the first one has level 0."""
    found = [Section()]
    anchors: Counter[str] = Counter()
    above: list[tuple[int, str]] = []
    for item in _Scanner(text.split("\n")).items():
        if isinstance(item, Block):
            found[-1].blocks.append(item)
            continue
        level, written, raw_title = item
        title, anchor = _title_and_anchor(raw_title)
        above = [(depth, name) for depth, name in above if depth < level] + [(level, title)]
        chain = tuple(name for _, name in above if name)
        found.append(Section(level, written, chain, _unique(anchor, anchors)))
    return found


def plain_title(raw: str) -> str:
    """A heading without the marks of links, emphasis and code."""
    title = _LINK.sub(r"\1", raw)
    for _ in range(3):  # marks in marks
        title = _EMPHASIS.sub(r"\2", title)
    return " ".join(title.split())[:LONGEST_TITLE]


def _without_closing(title: str) -> str:
    """The title of a heading without the ``#`` that may close it."""
    bare = title.rstrip("#")
    return bare.rstrip(" \t") if not bare or bare[-1] in " \t" else title


def _title_and_anchor(raw: str) -> tuple[str, str]:
    raw = raw[:_LONGEST_RAW_TITLE]
    given = _GIVEN_ANCHOR.search(raw)
    title = plain_title(raw[: given.start()] if given else raw)
    return title, given[1] if given else _slug(title)


def _slug(title: str) -> str:
    kept = (c for c in title.lower() if c in "-_ " or unicodedata.category(c)[0] in "LNM")
    return "".join(kept).replace(" ", "-")


def _unique(anchor: str, taken: Counter[str]) -> str:
    """The anchor, with a number behind it from its second use on."""
    taken[anchor] += 1
    uses = taken[anchor] - 1
    return f"{anchor}-{uses}" if uses and anchor else anchor


_Heading = tuple[int, str, str]  # level, as written, raw title


class _Scanner:
    """One pass over the lines."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0
        self._open: list[str] = []  # the lines of the paragraph that is being read
        self._missing: set[re.Pattern[str]] = set()  # closing marks that do not come any more

    def items(self) -> Iterator[Block | _Heading]:
        yield from self._front_matter()
        while self._at < len(self._lines):
            line = self._lines[self._at]
            heading = self._heading(line)
            if heading:
                yield from self._paragraph()
                yield heading
                self._at += 1
            elif end := self._end_of_fence(line):
                yield from self._paragraph()
                yield self._take(end, "fence")
            elif end := self._end_of_table(line):
                yield from self._paragraph()
                yield self._take(end, "table")
            elif end := self._end_of_raw_html(line):
                self._open += self._lines[self._at : end]
                self._at = end
            else:
                if not line.strip():
                    yield from self._paragraph()
                else:
                    self._open.append(line)
                self._at += 1
        yield from self._paragraph()

    def _paragraph(self) -> Iterator[Block]:
        if self._open:
            yield Block("text", "\n".join(self._open).strip("\n"))
        self._open = []

    def _take(self, end: int, kind: BlockKind) -> Block:
        lines, self._at = self._lines[self._at : end], end
        return Block(kind, "\n".join(lines))

    def _front_matter(self) -> Iterator[Block]:
        """Metadata between ``---`` lines at the very start is text, and no heading."""
        if not self._lines or self._lines[0].rstrip() != "---":
            return
        for number, line in enumerate(self._lines[1:], start=1):
            if line.rstrip() in {"---", "..."}:
                block = self._take(number + 1, "text")
                body = "\n".join(block.text.split("\n")[1:-1]).strip("\n")
                if body.strip():
                    yield Block("text", body)
                return

    def _heading(self, line: str) -> _Heading | None:
        atx = _ATX.match(line)
        if atx:
            return len(atx[1]), line.strip(), _without_closing(line[atx.end() :].strip(" \t"))
        setext = _SETEXT.match(line)
        if setext and self._open and not _NO_SETEXT.match(self._open[0]):
            title, self._open = self._open, []
            level = 1 if setext[1][0] == "=" else 2
            return level, "\n".join([*title, line]).strip(), " ".join(title).strip()
        return None

    def _end_of_fence(self, line: str) -> int | None:
        """The line after a fenced block that begins here.

        One that is not closed runs to the end of the document, unless it is indented so far
        that it may be no fence at all.
        """
        fence = _FENCE.match(line)
        if not fence:
            return None
        mark = fence[2]
        closing = re.compile(rf"^[ \t]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")
        end = self._end_at(closing, self._at + 1)
        if end:
            return end
        is_deep = len(fence[1].expandtabs(4)) > 3
        return None if is_deep else len(self._lines)

    def _end_of_table(self, line: str) -> int | None:
        """The line after a table: a row, a rule with as many columns, and the rows below."""
        below = self._lines[self._at + 1] if self._at + 1 < len(self._lines) else ""
        if "|" not in line or "|" not in below or not _TABLE_RULE.match(below):
            return None
        end = self._at + 2
        while end < len(self._lines) and self._lines[end].strip():
            if _ATX.match(self._lines[end]) or _FENCE.match(self._lines[end]):
                break
            end += 1
        return end

    def _end_of_raw_html(self, line: str) -> int | None:
        """The line after an HTML comment or an element with raw content; None if never closed."""
        start = _RAW_HTML.match(line)
        if not start:
            return None
        closing = re.compile("-->" if start[1] else rf"</{start[2]}>", re.IGNORECASE)
        return self._end_at(closing, self._at)

    def _end_at(self, closing: re.Pattern[str], first: int) -> int | None:
        """The line after the first one, from here on, that holds the closing mark."""
        if closing in self._missing:
            return None
        for number in range(first, len(self._lines)):
            if closing.search(self._lines[number]):
                return number + 1
        self._missing.add(closing)
        return None
