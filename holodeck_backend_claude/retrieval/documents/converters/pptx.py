"""PowerPoint presentations to Markdown: a section for each slide, notes included."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

from pptx import Presentation

from holodeck_backend_claude.retrieval.documents.converters.archives import check_archive
from holodeck_backend_claude.retrieval.documents.converters.tables import table


def convert(data: bytes) -> str:
    """The text of a presentation."""
    check_archive(data)
    slides = enumerate(Presentation(io.BytesIO(data)).slides, start=1)
    return "\n\n".join(part for number, slide in slides for part in _slide(number, slide))


def _slide(number: int, slide: Any) -> Iterator[str]:
    title = slide.shapes.title
    name = " ".join(title.text_frame.text.split()) if title is not None else ""
    yield f"## Slide {number}: {name}" if name else f"## Slide {number}"
    skipped = title.shape_id if title is not None else None
    yield from _shapes(shape for shape in slide.shapes if shape.shape_id != skipped)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text.strip()
        if notes:
            yield f"Notes: {notes}"


def _shapes(shapes: Iterable[Any]) -> Iterator[str]:
    for shape in shapes:
        if hasattr(shape, "shapes"):  # a group
            yield from _shapes(shape.shapes)
        elif getattr(shape, "has_table", False):
            yield table([cell.text for cell in row.cells] for row in shape.table.rows)
        elif shape.has_text_frame:
            lines = [p for p in shape.text_frame.paragraphs if p.text.strip()]
            text = "\n".join(f"{'  ' * p.level}- {' '.join(p.text.split())}" for p in lines)
            if text:
                yield text if len(lines) > 1 else text.removeprefix("- ")
