"""Word documents to Markdown, with their headings, lists and tables."""

from __future__ import annotations

import io

import mammoth  # type: ignore[import-untyped]

from holodeck_backend_claude.retrieval.documents.converters import html
from holodeck_backend_claude.retrieval.documents.converters.archives import check_archive


def convert(data: bytes) -> str:
    """The text of a Word document; pictures are left out."""
    check_archive(data)
    without_pictures = mammoth.images.img_element(lambda _image: {"src": ""})
    page = mammoth.convert_to_html(io.BytesIO(data), convert_image=without_pictures)
    return html.convert(page.value)
