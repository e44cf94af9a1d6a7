"""The kinds of documents, by the ending of their names, and how each becomes text.

A converter turns bytes into Markdown, so that headings and tables are known afterwards. Those
that need a library are loaded for the first document of their kind.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeAlias

from holodeck_backend_claude.retrieval.documents.decoding import NotTextError, decode

Convert: TypeAlias = Callable[[bytes], str]


class UnreadableError(Exception):
    """A document cannot be read or holds no text; the message is its cause."""


@dataclass(frozen=True)
class Format:
    """One kind of document.

    Attributes:
        name: What it is called.
        converter: The module in ``converters`` whose ``convert(data)`` gives Markdown; None for
            text that is taken as it is.
        needs: The packages that the converter imports.
        extra: The extra of this package that brings them.
        has_headings: Whether the text is Markdown.
    """

    name: str
    converter: str | None = None
    needs: tuple[str, ...] = ()
    extra: str = ""
    has_headings: bool = True


_MARKDOWN = Format("Markdown")
_HTML = Format("HTML", "html", ("markdownify", "bs4"), "html")

FORMATS: dict[str, Format] = {
    ".md": _MARKDOWN,
    ".markdown": _MARKDOWN,
    ".txt": Format("text", has_headings=False),
    ".rst": Format("reStructuredText", "rst", ("docutils", "markdownify"), "rst"),
    ".html": _HTML,
    ".htm": _HTML,
    ".pdf": Format("PDF", "pdf", ("pypdfium2",), "pdf"),
    ".docx": Format("Word document", "docx", ("mammoth", "markdownify"), "docx"),
    ".pptx": Format("PowerPoint presentation", "pptx", ("pptx",), "pptx"),
    ".xlsx": Format("Excel workbook", "xlsx", ("openpyxl",), "xlsx"),
    ".csv": Format("CSV", "csv"),
    ".tsv": Format("TSV", "csv"),
    ".json": Format("JSON", "json"),
    ".jsonl": Format("JSON Lines", "json"),
    ".ndjson": Format("JSON Lines", "json"),
}
"""By suffix, in small letters."""

SUFFIXES = tuple(FORMATS)


def format_of(name: str) -> Format:
    """The format of a document, by its name; text where the ending says nothing."""
    return FORMATS.get(PurePosixPath(name).suffix.lower(), FORMATS[".txt"])


def to_text(name: str, data: bytes) -> str:
    """The text of a document: Markdown, where its format has headings.

    Args:
        name: Its ending tells the format.
        data: The whole document.

    Raises:
        UnreadableError: It is empty, damaged, no text, or its converter is not installed.
    """
    form = format_of(name)
    text = as_text(data) if form.converter is None else _convert(form, data)
    if not text.strip():
        raise UnreadableError("it is empty")
    return text


def as_text(data: bytes) -> str:
    """The text of bytes that are text.

    Raises:
        UnreadableError: They are none.
    """
    try:
        return decode(data)
    except NotTextError as cause:
        raise UnreadableError(str(cause)) from cause


def installed() -> str:
    """The formats that can be read now; what is left unread is read once this changes."""
    return ",".join(sorted({f.extra for f in FORMATS.values() if f.extra and not _missing(f)}))


def _convert(form: Format, data: bytes) -> str:
    if not data.strip():
        raise UnreadableError("it is empty")
    if _missing(form):
        raise UnreadableError(
            f"a {form.name} needs: pip install 'holodeck-backend-claude[{form.extra}]'"
        )
    module = importlib.import_module(f"{__package__}.converters.{form.converter}")
    convert: Convert = module.convert
    try:
        return convert(data)
    except UnreadableError:
        raise
    except Exception as cause:  # libraries raise whatever their files make them
        told = " ".join(str(cause).split())[:200] or type(cause).__name__
        raise UnreadableError(f"it is damaged or no {form.name} ({told})") from cause


def _missing(form: Format) -> bool:
    return any(importlib.util.find_spec(package) is None for package in form.needs)
