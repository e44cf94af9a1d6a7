"""The value of a word of a command line, where it has one before the shell expands it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holodeck_backend_claude.claude.permissions.shell.findings import Unknown, Word

if TYPE_CHECKING:
    from tree_sitter import Node

_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r'\\([$`"\\])')
_PATTERN = re.compile(r"[*?\[\]]")
_BLANK = re.compile(r"[\s;|&<>()]")
_BRACES = re.compile(r"[{}]")
_SEVERAL = re.compile(r"\$(?:[@*]|\{[^}]*[@*])")


def source_of(node: Node) -> str:
    """How a node is written."""
    return (node.text or b"").decode("utf-8", errors="replace")


def word_of(node: Node) -> Word:
    """The word that this node stands for, quotes and backslashes resolved."""
    value = _value(node)
    if value is None:
        source = source_of(node)
        return Unknown(source, node.type == "string" and not _SEVERAL.search(source))
    return value


def _value(node: Node) -> str | None:  # noqa: PLR0911  one for each kind of word
    source = source_of(node)
    match node.type:
        case "command_name":
            return _value(node.named_children[0]) if node.named_child_count == 1 else None
        case "raw_string":
            return source[1:-1]
        case "string":
            return _quoted(node, source)
        case "number":
            return source if node.named_child_count == 0 else None
        case "word":
            return _unquoted(source) if node.named_child_count == 0 else None
        case "concatenation":
            return _joined(node)
        case _:
            return None


def _quoted(node: Node, source: str) -> str | None:
    if any(child.type != "string_content" for child in node.named_children):
        return None
    inner = source[1:-1]
    plain = _ESCAPED_IN_QUOTES.sub("", inner)
    return None if "`" in plain or "$" in plain else _ESCAPED_IN_QUOTES.sub(r"\1", inner)


def _unquoted(source: str) -> str | None:
    plain = _ESCAPED.sub("", source)
    if _PATTERN.search(plain) or "$" in plain or "`" in plain:
        return None
    if _BLANK.search(plain):  # no word of bash holds one, so the grammar took it for another
        return None
    if _BRACES.search(plain.replace("{}", "")):
        return None  # '{a,b}' becomes several words; '{}' stays
    if plain.startswith("~") and not plain.startswith("~/"):
        return None
    return _ESCAPED.sub(r"\1", source)


def _joined(node: Node) -> str | None:
    source = source_of(node)
    if source.startswith("~") or any(not child.is_named for child in node.children):
        return None  # a tilde before quotes is a tilde, before a word a home folder
    braces_are_plain = not _BRACES.search(_ESCAPED.sub("", source).replace("{}", ""))
    parts: list[str] = []
    for child in node.named_children:
        is_brace = source_of(child) in ("{", "}")
        value = source_of(child) if is_brace and braces_are_plain else _value(child)
        if value is None:
            return None
        parts.append(value)
    return "".join(parts)
