"""What a passage is: a heading, a definition, a requirement, or other content."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from holodeck_backend_claude.retrieval.documents.definitions import defines, is_glossary
from holodeck_backend_claude.retrieval.documents.markdown import Section

Kind: TypeAlias = Literal["header", "definition", "requirement", "content"]

# The words of RFC 2119 and of contracts and laws, small or in capitals.
_REQUIRES = re.compile(
    r"\b(?:must|shall|required to|is required|are required|obliged to|obligated to|prohibited"
    r"|may not|mandatory)\b",
    re.IGNORECASE,
)


def kind_of(content: str, section: Section) -> Kind:
    """What a passage of a section is.

    Args:
        content: The passage.
        section: Where it stands.
    """
    if section.heading and content.strip() == section.heading.strip():
        return "header"
    if is_glossary(section) or defines(content):
        return "definition"
    return "requirement" if _REQUIRES.search(content) else "content"
