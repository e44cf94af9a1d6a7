"""reStructuredText to Markdown."""

from __future__ import annotations

from docutils.core import publish_parts
from docutils.writers import get_writer_class

from holodeck_backend_claude.retrieval.documents.converters import html
from holodeck_backend_claude.retrieval.documents.formats import as_text

_SETTINGS = {
    "_disable_config": True,
    "file_insertion_enabled": False,  # a document must not read other files
    "raw_enabled": False,
    "report_level": 5,
    "halt_level": 5,
    "embed_stylesheet": False,
    "doctitle_xform": False,
    "initial_header_level": 1,
    "syntax_highlight": "none",
    "input_encoding": "unicode",
}


def convert(data: bytes) -> str:
    """The text of a document; what it would include is left out."""
    parts = publish_parts(
        as_text(data), writer=get_writer_class("html5")(), settings_overrides=_SETTINGS
    )
    return html.convert(parts["html_body"])
