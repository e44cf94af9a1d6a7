"""PDF documents to Markdown; headings are told by the size of their letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pypdfium2  # type: ignore[import-untyped]
from pypdfium2 import raw

from holodeck_backend_claude.retrieval.documents.formats import UnreadableError

_LARGER = 1.15  # than the text, for a heading
_LONGEST_HEADING = 160
_MOST_LEVELS = 4


@dataclass(frozen=True)
class _Line:
    text: str
    size: float  # of its letters, in points, rounded to halves


def convert(data: bytes) -> str:
    """The text of a document, page after page."""
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as cause:
        if "password" in str(cause).lower():
            raise UnreadableError("it is protected by a password") from cause
        raise UnreadableError("it is damaged, or no PDF") from cause
    try:
        pages = [list(_lines(document, number)) for number in range(len(document))]
    finally:
        document.close()
    lines = [line for page in pages for line in page]
    if not lines:
        raise UnreadableError("it holds no text, only pictures; recognise its text first (OCR)")
    levels = _levels(lines)
    return "\n\n".join("\n".join(_marked(page, levels)) for page in pages if page)


def _lines(document: pypdfium2.PdfDocument, number: int) -> Iterator[_Line]:
    page = document[number]
    text_page = page.get_textpage()
    try:
        letters: list[str] = []
        sizes: Counter[float] = Counter()
        for index in range(text_page.count_chars()):
            letter = chr(raw.FPDFText_GetUnicode(text_page, index))
            if letter in "\r\n":
                yield from _line(letters, sizes)
                letters, sizes = [], Counter()
                continue
            letters.append(letter)
            if not letter.isspace():
                sizes[round(raw.FPDFText_GetFontSize(text_page, index) * 2) / 2] += 1
        yield from _line(letters, sizes)
    finally:
        text_page.close()
        page.close()


def _line(letters: list[str], sizes: Counter[float]) -> Iterator[_Line]:
    text = " ".join("".join(letters).replace("\ufffe", "-").replace("\0", " ").split())
    if text and sizes:
        yield _Line(text, sizes.most_common(1)[0][0])


def _levels(lines: list[_Line]) -> dict[float, int]:
    """The level of heading for each size of letters that is larger than the text's."""
    written: Counter[float] = Counter()
    for line in lines:
        written[line.size] += len(line.text)
    usual = written.most_common(1)[0][0]
    larger = sorted((size for size in written if size >= usual * _LARGER), reverse=True)
    return {size: min(level, _MOST_LEVELS) for level, size in enumerate(larger, start=1)}


def _marked(page: list[_Line], levels: dict[float, int]) -> Iterator[str]:
    """The lines of a page; lines of one heading are joined."""
    heading: list[str] = []
    level = 0
    for line in [*page, _Line("", 0)]:
        here = levels.get(line.size, 0) if len(line.text) <= _LONGEST_HEADING else 0
        if heading and here != level:
            yield f"\n{'#' * level} {' '.join(heading)}\n"
            heading = []
        level = here
        if here:
            heading.append(line.text)
        elif line.text:
            yield _plain(line.text)


def _plain(text: str) -> str:
    """A line that does not begin as a heading, fence or rule of Markdown does."""
    return f"\\{text}" if text[0] in "#`~=" or set(text) <= set("-_* ") else text
