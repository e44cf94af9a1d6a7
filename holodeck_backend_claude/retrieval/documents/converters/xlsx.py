"""Excel workbooks to Markdown: a section with a table for each sheet."""

from __future__ import annotations

import io
import warnings

from openpyxl import load_workbook

from holodeck_backend_claude.retrieval.documents.converters.archives import check_archive
from holodeck_backend_claude.retrieval.documents.converters.tables import table


def convert(data: bytes) -> str:
    """The cells of a workbook, with the values that formulas had when it was saved."""
    check_archive(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions, which are not read
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        try:
            sheets = [(sheet.title, table(sheet.values)) for sheet in book.worksheets]
        finally:
            book.close()
    return "\n\n".join(f"## {title}\n\n{cells}" for title, cells in sheets if cells)
