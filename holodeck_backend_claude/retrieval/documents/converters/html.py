"""HTML to Markdown: what a reader sees, without scripts, styles and navigation."""

from __future__ import annotations

from bs4 import BeautifulSoup
from markdownify import MarkdownConverter

_UNSEEN = ["script", "style", "noscript", "template", "svg", "nav", "iframe", "object", "head"]


def convert(data: bytes | str) -> str:
    """The text of a page; its title is a heading where it has no other of the first level.

    Args:
        data: The page; the encoding that it names counts.
    """
    page = BeautifulSoup(data, "html.parser")
    title = page.title.get_text(" ", strip=True) if page.title else ""
    for unseen in page.find_all(_UNSEEN):
        unseen.decompose()
    text = MarkdownConverter(
        heading_style="ATX", strip=["img"], bullets="-", table_infer_header=True
    ).convert_soup(page)
    has_title = page.find("h1") is not None
    return text.strip() if has_title or not title else f"# {title}\n\n{text.strip()}"
