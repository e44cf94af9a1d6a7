"""Every kind of document becomes text with its headings and tables; bad ones say why."""

from __future__ import annotations

import importlib.util
import io
import json
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from holodeck_backend_claude.retrieval.documents import formats
from holodeck_backend_claude.retrieval.documents.converters import archives
from holodeck_backend_claude.retrieval.documents.formats import (
    FORMATS,
    UnreadableError,
    format_of,
    installed,
    to_text,
)
from holodeck_backend_claude.retrieval.documents.markdown import sections


def chains(name: str, data: bytes) -> list[tuple[str, ...]]:
    """The headings of a document, each with those above it."""
    return [section.chain for section in sections(to_text(name, data)) if section.chain]


def pdf(*, password: str | None = None, text: bool = True) -> bytes:
    from reportlab.lib.pdfencrypt import StandardEncryption  # type: ignore[import-untyped]
    from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]

    out = io.BytesIO()
    encryption = StandardEncryption(password) if password else None
    canvas = Canvas(out, encrypt=encryption)
    lines = [
        (20, "Handbook of the"), (20, "workshop"), (11, "Read it before use."),
        (15, "Refunds"), (11, "Money comes back in 30 days."), (11, "# is no heading."),
    ]  # fmt: skip
    for number, (size, line) in enumerate(lines if text else ()):
        canvas.setFont("Helvetica", size)
        canvas.drawString(72, 720 - 30 * number, line)
    canvas.showPage()
    canvas.setFont("Helvetica", 11)
    if text:
        canvas.drawString(72, 720, "The second page goes on.")
    canvas.save()
    return out.getvalue()


def docx() -> bytes:
    from docx import Document

    document = Document()
    document.add_heading("Handbook", 1)
    document.add_paragraph("Read it before use.")
    document.add_heading("Refunds", 2)
    document.add_paragraph("Money comes back in 30 days.")
    table = document.add_table(2, 2)
    for cell, text in zip(table._cells, ["Item", "Days", "Lamp", "30"], strict=True):
        cell.text = text
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def pptx() -> bytes:
    from pptx import Presentation
    from pptx.util import Inches

    show = Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = "Refunds"
    slide.placeholders[1].text_frame.text = "Money comes back\nin 30 days"
    cells = slide.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    for place, text in {(0, 0): "Item", (0, 1): "Days", (1, 0): "Lamp", (1, 1): "30"}.items():
        cells.cell(*place).text = text
    slide.notes_slide.notes_text_frame.text = "Say it slowly."
    show.slides.add_slide(show.slide_layouts[6])
    out = io.BytesIO()
    show.save(out)
    return out.getvalue()


def xlsx() -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Refunds"
    sheet.append(["Item", "Days", None])
    sheet.append([None, None, None])
    sheet.append(["Lamp | small", 30.0, None])
    book.create_sheet("Empty")
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


HTML = b"""<html><head><title>Handbook</title><style>p {color: red}</style></head><body>
<nav>Home</nav><script>alert(1)</script>
<h2>Refunds</h2><p>Money comes <b>back</b> in <a href="/d">30 days</a>.</p>
<table><tr><th>Item</th><th>Days</th></tr><tr><td>Lamp</td><td>30</td></tr></table>
<img src="x.png" alt="picture"></body></html>"""

RST = """\
Handbook
========

Read it before use.

Refunds
-------

Money comes *back*.

.. include:: /etc/passwd

.. raw:: html

   <p>raw</p>
"""
TABLE = "| Item | Days |\n| --- | --- |\n| Lamp | 30 |"


class TestHeadings:
    @pytest.mark.parametrize(
        ("name", "make", "wanted"),
        [
            ("a.html", lambda: HTML, [("Handbook",), ("Handbook", "Refunds")]),
            ("a.rst", RST.encode, [("Handbook",), ("Handbook", "Refunds")]),
            ("a.docx", docx, [("Handbook",), ("Handbook", "Refunds")]),
            (
                "a.pdf",
                pdf,
                [("Handbook of the workshop",), ("Handbook of the workshop", "Refunds")],
            ),
            ("a.pptx", pptx, [("Slide 1: Refunds",), ("Slide 2",)]),
            ("a.xlsx", xlsx, [("Refunds",)]),
        ],
    )
    def test_the_headings_of_a_document_are_known(
        self, name: str, make: Callable[[], bytes], wanted: list[tuple[str, ...]]
    ) -> None:
        assert chains(name, make()) == wanted


class TestText:
    def test_of_a_page_only_what_a_reader_sees_is_taken(self) -> None:
        text = to_text("a.HTM", HTML)
        assert text.startswith("# Handbook\n\n## Refunds\n\nMoney comes **back** in ")
        assert TABLE in text
        for unseen in ("Home", "alert", "color", "picture", "x.png"):
            assert unseen not in text

    def test_a_page_is_read_in_the_encoding_it_names(self) -> None:
        page = '<meta charset="shift_jis"><h1>返金</h1>'.encode("shift_jis")
        assert to_text("a.html", page) == "# 返金"

    def test_a_pdf_is_read_page_after_page(self) -> None:
        text = to_text("a.pdf", pdf())
        assert "Money comes back in 30 days.\n\\# is no heading." in text
        assert text.endswith("The second page goes on.")

    def test_the_tables_of_office_documents_are_tables(self) -> None:
        assert TABLE in to_text("a.docx", docx())
        assert TABLE in to_text("a.pptx", pptx())
        assert to_text("a.xlsx", xlsx()).endswith(
            "| Item | Days |\n| --- | --- |\n| Lamp \\| small | 30 |"
        )

    def test_lists_and_notes_of_slides_are_kept(self) -> None:
        text = to_text("a.pptx", pptx())
        assert "- Money comes back\n- in 30 days" in text
        assert "Notes: Say it slowly." in text

    def test_nothing_outside_of_a_document_is_read_by_it(self) -> None:
        text = to_text("a.rst", RST.encode())
        assert "root:" not in text
        assert "raw" not in text

    @pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
    def test_the_delimiter_of_a_table_is_told(self, delimiter: str) -> None:
        rows = [["Item", "Days"], ["Lamp", "30"]]
        text = "\n".join(delimiter.join(row) for row in rows)
        assert to_text("a.csv", text.encode()) == TABLE

    def test_quotes_hold_a_cell_of_a_table_together(self) -> None:
        text = 'Item,Days\n"Lamp, large\nand red",30\n'
        assert to_text("a.csv", text.encode("utf-16")).endswith("| Lamp, large and red | 30 |")

    def test_each_record_of_json_is_a_paragraph(self) -> None:
        records = [{"item": "Lamp", "days": 30, "tags": ["a"]}, {"item": "Désk"}]
        wanted = 'item: Lamp\ndays: 30\ntags: ["a"]\n\nitem: Désk'
        assert to_text("a.json", json.dumps(records).encode()) == wanted
        lines = "\n".join(map(json.dumps, records)).encode()
        assert to_text("a.jsonl", lines) == wanted
        assert to_text("a.json", b'"text"') == "text"


class TestBadDocuments:
    @pytest.mark.parametrize(
        ("name", "data", "why"),
        [
            ("a.pdf", b"%PDF-1.4 nothing", "damaged, or no PDF"),
            ("a.pdf", b"", "it is empty"),
            ("a.docx", b"PK nothing", "damaged, or no Office document"),
            ("a.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1", "protected by a password"),
            ("a.json", b"{", r"no JSON \(line 1"),
            ("a.jsonl", b'{"a": 1}\nx\n', r"no JSON \(line 2"),
            ("a.json", b"[" * 100_000, "nested too deeply"),
            ("a.csv", b"\x89PNG\r\n\x1a\n\0\0", "PNG image"),
            ("a.html", b"<p></p>", "it is empty"),
        ],
    )
    def test_what_cannot_be_read_says_why(self, name: str, data: bytes, why: str) -> None:
        with pytest.raises(UnreadableError, match=why):
            to_text(name, data)

    def test_a_pdf_with_a_password_or_of_pictures_alone_says_so(self) -> None:
        with pytest.raises(UnreadableError, match="password"):
            to_text("a.pdf", pdf(password="secret"))
        with pytest.raises(UnreadableError, match=r"only pictures; .*OCR"):
            to_text("a.pdf", pdf(text=False))

    @pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx"])
    def test_a_zip_archive_that_is_no_such_document_is_damaged(self, name: str) -> None:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("a.txt", "x")
        with pytest.raises(UnreadableError, match="it is damaged or no "):
            to_text(name, out.getvalue())

    def test_an_archive_that_unpacks_to_too_much_is_not_unpacked(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(archives, "MOST_BYTES", 1_000)
        with pytest.raises(UnreadableError, match="unpacks to more than"):
            to_text("a.docx", docx())

    @pytest.mark.parametrize("suffix", [s for s, form in FORMATS.items() if form.extra])
    def test_without_its_converter_a_document_says_what_to_install(
        self, suffix: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = installed()
        monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
        extra = FORMATS[suffix].extra
        with pytest.raises(
            UnreadableError, match=rf"needs: pip install 'holodeck-backend-claude\[{extra}\]'"
        ):
            to_text(f"a{suffix}", b"x")
        assert installed() != before


def test_every_extra_is_one_of_this_package() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    known = project["project"]["optional-dependencies"]
    extras = {form.extra for form in FORMATS.values() if form.extra}
    assert extras <= known.keys()
    assert known["documents"] == [f"holodeck-backend-claude[{','.join(known_in_order(known))}]"]


def known_in_order(known: dict[str, list[str]]) -> list[str]:
    return [extra for extra in known if extra in {form.extra for form in FORMATS.values()}]


def test_an_unknown_ending_is_text() -> None:
    assert format_of("README") is formats.FORMATS[".txt"]
