"""Tables of text to Markdown; the delimiter is told from the first lines."""

from __future__ import annotations

import csv
import io

from holodeck_backend_claude.retrieval.documents.converters.tables import table
from holodeck_backend_claude.retrieval.documents.formats import as_text

_SAMPLE_LINES = 20
_DELIMITERS = ",;\t|"


def convert(data: bytes) -> str:
    """The rows of a file; the first one is the header."""
    text = as_text(data)
    return table(csv.reader(io.StringIO(text), delimiter=delimiter_of(text)))


def delimiter_of(text: str) -> str:
    """The character that cuts most of the first lines into the same number of cells."""
    lines = [line for line in text.split("\n")[:_SAMPLE_LINES] if line.strip()]

    def regularity(delimiter: str) -> tuple[int, int]:
        counts = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        usual = max(set(counts), key=counts.count, default=1)
        return (counts.count(usual), usual) if usual > 1 else (0, 0)

    return max(_DELIMITERS, key=regularity)
