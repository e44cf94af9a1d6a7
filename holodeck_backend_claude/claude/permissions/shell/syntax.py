"""A command line as bash reads it: the tree of its grammar, walked for commands and doubts."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from holodeck_backend_claude.claude.permissions.shell.doubtful import doubts_about
from holodeck_backend_claude.claude.permissions.shell.findings import Call, Doubt, Finding, Word
from holodeck_backend_claude.claude.permissions.shell.heredocs import heredoc_doubts
from holodeck_backend_claude.claude.permissions.shell.words import source_of, word_of

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_CHARACTERS = 20_000

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]|(?![ \t\n])\s")
_CONTINUATION = re.compile(r"(?:^|[^ \t\n])\\\n|\\\n(?![ \t\n]*[^ \t\n#])")
_COMMENT_START = re.compile(r"(?:\A|(?<!\\)[ \t\n])\Z")
_ESCAPED_BLANK = re.compile(r"(?:\A|[^\w./-])\\[ \t]")
_LATER_LINE_BEGINS_WITH_BACKSLASH = re.compile(r"\n[ \t]*\\")

# Parts of a command that are not words of it.
_NOT_WORDS = frozenset({"variable_assignment", "file_redirect", "herestring_redirect"})
# A redirection may follow a word without a blank; no word may follow a redirection so.
_MAY_TOUCH = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
_OF_WORDS = frozenset(
    {"command", "variable_assignments", "declaration_command", "unset_command", "for_statement",
     "array"}
)  # fmt: skip
# What may follow a redirection's target within its node, although it is an argument.
_REDIRECTS = frozenset({"file_redirect", "heredoc_redirect"})


@functools.cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def read(text: str) -> Iterator[Finding]:
    """Every command that a command line runs, and everything that cannot be told of it.

    Args:
        text: The command line; several lines are a script.
    """
    if len(text) > MAX_CHARACTERS:
        yield Doubt(f"it is longer than {MAX_CHARACTERS} characters")
        return
    if _CONTROL.search(text):
        yield Doubt("it holds control characters")
    if _CONTINUATION.search(text):
        yield Doubt("a line is continued within a word")
    if _ESCAPED_BLANK.search(text):
        yield Doubt("a word begins with an escaped blank")  # no part of it for the grammar
    if _LATER_LINE_BEGINS_WITH_BACKSLASH.search(text):
        yield Doubt("a line begins with a backslash")  # the grammar takes it for a continuation
    source = text.encode("utf-8", errors="replace")
    root = _parser().parse(source).root_node
    if root.has_error:
        yield Doubt("its syntax is not understood")
    yield from _walk(root, source)


def _walk(node: Node, source: bytes) -> Iterator[Finding]:
    yield from doubts_about(node)
    match node.type:
        case "redirected_statement":
            yield from _redirected(node)
        case "command" if node.parent is None or node.parent.type != "redirected_statement":
            yield from _call(_words(node))
        case "heredoc_redirect":
            yield from heredoc_doubts(node, source)
        case "comment":
            before = source[: node.start_byte].decode("utf-8", errors="replace")
            if not _COMMENT_START.search(before):
                yield Doubt("a comment begins within a word")
    if node.type in _OF_WORDS and _have_no_blank_between(node):
        yield Doubt("words are not apart")
    for child in node.named_children:
        yield from _walk(child, source)


def _have_no_blank_between(node: Node) -> bool:
    """Whether the grammar cut in two what is one word for bash."""
    return any(
        before.end_byte == after.start_byte and after.type not in _MAY_TOUCH
        for before, after in itertools.pairwise(node.named_children)
    )


def _redirected(node: Node) -> Iterator[Finding]:
    """A command and its redirections; what follows a redirection's target belongs to it too."""
    body = node.child_by_field_name("body")
    later = [word for child in node.named_children for word in _arguments_in(child)]
    if body is None or body.type == "command":
        yield from _call([*(_words(body) if body else ()), *later])
    elif later:
        yield Doubt("words follow a redirection of several commands")


def _call(words: list[Word]) -> Iterator[Finding]:
    if words:
        yield Call(tuple(words))


def _words(command: Node) -> list[Word]:
    words: list[Word] = []
    for child in command.named_children:
        if child.type in _REDIRECTS:
            words += _arguments_in(child)
        elif child.type not in _NOT_WORDS:
            words.append(word_of(child))
    return words


def _arguments_in(node: Node) -> list[Word]:
    if node.type == "file_redirect":
        return [word_of(each) for each in node.children_by_field_name("destination")[1:]]
    if node.type == "heredoc_redirect":
        inner = [word for child in node.named_children for word in _arguments_in(child)]
        return [word_of(each) for each in node.children_by_field_name("argument")] + inner
    return []


__all__ = ["MAX_CHARACTERS", "read", "source_of"]
