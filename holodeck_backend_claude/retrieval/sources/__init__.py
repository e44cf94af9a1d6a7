"""Sources of documents: a file, a folder, a pattern, or a URL."""

from holodeck_backend_claude.retrieval.sources.finding import find_documents
from holodeck_backend_claude.retrieval.sources.found import (
    Found,
    Skipped,
    SourceFile,
    nothing_found,
)
from holodeck_backend_claude.retrieval.sources.reading import read_bytes

__all__ = [
    "Found",
    "Skipped",
    "SourceFile",
    "find_documents",
    "nothing_found",
    "read_bytes",
]
