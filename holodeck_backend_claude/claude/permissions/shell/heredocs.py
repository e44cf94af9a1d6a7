"""Here-documents: whether bash ends one where the grammar ends it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from holodeck_backend_claude.claude.permissions.shell.findings import Doubt
from holodeck_backend_claude.claude.permissions.shell.words import source_of

if TYPE_CHECKING:
    from tree_sitter import Node

_DELIMITER = re.compile(r"(['\"]?)(\w+)\1|\\(\w+)")
_RUNS = re.compile(r"`|\$[({\[]")
_PLAIN_REST = re.compile(r"[\w \t./=<>|&;:,+@%$-]*")


def heredoc_doubts(node: Node, source: bytes) -> Iterator[Doubt]:
    """What is doubtful about a here-document: text that passes for data may be commands.

    Args:
        node: The redirection.
        source: The whole command line.
    """
    body = next((child for child in node.named_children if child.type == "heredoc_body"), None)
    starts = [child for child in node.named_children if child.type == "heredoc_start"]
    start = source_of(starts[0]) if starts else ""
    if body is not None and not set("'\"\\") & set(start) and _RUNS.search(source_of(body)):
        yield Doubt("a here-document may run a command")  # the grammar overlooks some of them
    if not _is_plain(node, source):
        yield Doubt("where its here-document ends is not certain")


def _is_plain(node: Node, source: bytes) -> bool:
    """One delimiter, a simple first line, and a body that no earlier line could end."""
    parts = {child.type: child for child in node.named_children}
    start, body, end = (parts.get(f"heredoc_{part}") for part in ("start", "body", "end"))
    if start is None or body is None or end is None:
        return False
    delimiter = _DELIMITER.fullmatch(source_of(start))
    if delimiter is None:
        return False
    first_line, *_ = source[start.end_byte :].split(b"\n", 1)
    rest = first_line.decode("utf-8", errors="replace")
    if "<<" in rest or not _PLAIN_REST.fullmatch(rest):
        return False
    if body.start_point[0] != start.start_point[0] + 1:
        return False
    strips_tabs = source[: start.start_byte].rstrip(b" \t").endswith(b"<<-")
    lines = source_of(body).split("\n")
    word = delimiter[2] or delimiter[3]
    ends = [line.lstrip("\t") if strips_tabs else line for line in lines]
    return word not in ends and _is_a_line(end, source, word, strips_tabs=strips_tabs)


def _is_a_line(end: Node, source: bytes, word: str, *, strips_tabs: bool) -> bool:
    begin = source.rfind(b"\n", 0, end.end_byte) + 1
    stop = source.find(b"\n", end.end_byte)
    line = source[begin : stop if stop >= 0 else len(source)].decode("utf-8", errors="replace")
    return (line.lstrip("\t") if strips_tabs else line) == word
