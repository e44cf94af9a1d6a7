"""Constructs in which bash may run what no command line shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from holodeck_backend_claude.claude.permissions.shell.findings import Doubt, shown
from holodeck_backend_claude.claude.permissions.shell.word_lists import (
    NODE_TYPES,
    SPECIAL_VARIABLES,
)
from holodeck_backend_claude.claude.permissions.shell.words import source_of

if TYPE_CHECKING:
    from tree_sitter import Node


_PLAIN_GIT_VARIABLE = re.compile(r"GIT_(?:AUTHOR|COMMITTER)_\w+|GIT_TERMINAL_PROMPT")
_PLAIN_EXPANSION = re.compile(
    r"\$\{#?[A-Za-z_]\w*(?:\[(?:\d+|[@*])\])?"
    r"(?:(?::?[-=?+]|##?|%%?|//?|\^\^?|,,?).*|:\d+(?::\d+)?)?\}"
    r"|\$\{[#@*?$!0-9-]\}",
    re.DOTALL,
)
_SIMPLE_EXPANSION = re.compile(r"\$(?:\w+|[@*#?$!-])")
_NUMBERS_ONLY = re.compile(r"[\s\d+*/%()<>=!&|^~?:-]*")
_ARITHMETIC_TEST = re.compile(r"-(?:eq|ne|lt|le|gt|ge|v|R)")
_COUNT = re.compile(r"\$[?#$!]|\$\{(?:[?#$!]|#\w+)\}")
_PLAIN_ELEMENT = re.compile(r"(?!\[)|\[\d+\]\+?=")
_PLAIN_INDEX = re.compile(r"\d+|[@*]")
_PLAIN_OPTIONS = re.compile(r"[-+][xrgaAp]+")


_DUPLICATES = re.compile(r"^\d*(?:[<>]&|&>)")
_PLAIN_TARGET = re.compile(r"(?:[<>]&|&>>?)\s*(?:\d+-?|-|[\w./-]+)$")


def is_special(variable: str) -> bool:
    """Whether setting this variable may change what is run."""
    if variable.startswith("GIT_"):
        return not _PLAIN_GIT_VARIABLE.fullmatch(variable)
    return variable in SPECIAL_VARIABLES or variable.startswith("BASH_FUNC_")


def doubts_about(node: Node) -> Iterator[Doubt]:
    """What is doubtful about this node itself, its children not counted."""
    source = source_of(node)
    if node.type not in NODE_TYPES:
        yield Doubt(f"{shown(source)} is not understood")
    elif node.type in _CHECKS:
        yield from _CHECKS[node.type](node, source)


def _in_arithmetic(_node: Node, source: str) -> Iterator[Doubt]:
    if not _NUMBERS_ONLY.fullmatch(source.strip("$([])")):
        yield _arithmetic(source)


def _in_compound(node: Node, source: str) -> Iterator[Doubt]:
    if source.startswith("(("):
        yield from _in_arithmetic(node, source)


def _in_counting_loop(_node: Node, _source: str) -> Iterator[Doubt]:
    yield _arithmetic("for ((")


def _in_expansion(_node: Node, source: str) -> Iterator[Doubt]:
    if not _PLAIN_EXPANSION.fullmatch(source) or "<(" in source or ">(" in source:
        yield Doubt(f"{shown(source)} may run something when it is expanded")


def _in_simple_expansion(_node: Node, source: str) -> Iterator[Doubt]:
    if not _SIMPLE_EXPANSION.fullmatch(source):  # the grammar lets blanks follow the dollar sign
        yield Doubt(f"{shown(source)} is not understood")


def _in_subscript(node: Node, source: str) -> Iterator[Doubt]:
    index = node.child_by_field_name("index")
    if index is None or not _PLAIN_INDEX.fullmatch(source_of(index)):
        yield _arithmetic(source)


def _in_assignment(_node: Node, source: str) -> Iterator[Doubt]:
    name = source.split("=", 1)[0].rstrip("+").split("[", 1)[0]
    if is_special(name):
        yield Doubt(f"{name} changes what is run")


def _in_redirect(_node: Node, source: str) -> Iterator[Doubt]:
    if _DUPLICATES.search(source) and not _PLAIN_TARGET.search(source):
        yield Doubt(f"bash expands {shown(source)} twice")


def _arithmetic(source: str) -> Doubt:
    return Doubt(f"arithmetic with variables can run commands: {shown(source)}")


def _in_test(node: Node, source: str) -> Iterator[Doubt]:
    """``[[ a -eq b ]]`` computes both sides, ``-v`` the index of a name."""
    if not source.startswith("["):
        yield Doubt(f"{shown(source)} is not understood")
    if not source.startswith("[["):
        yield from _unquoted_in(node)
    for expression in _below(node):
        if expression.type != "test_operator":
            continue
        operator = source_of(expression)
        is_number_test = source.startswith("[[") or operator in ("-v", "-R")
        if _ARITHMETIC_TEST.fullmatch(operator) and is_number_test:
            around = [source_of(each) for each in (expression.parent or node).named_children]
            if not all(_NUMBERS_ONLY.fullmatch(each) for each in around if each != operator):
                yield _arithmetic(source)


def _unquoted_in(node: Node) -> Iterator[Doubt]:
    """What becomes several words of ``[ … ]``, ``-v`` among them."""
    for child in node.named_children:
        source = source_of(child)
        if child.type in ("simple_expansion", "expansion", "command_substitution"):
            if not _COUNT.fullmatch(source):
                yield Doubt(f"{shown(source)} in [ ] is not in quotes")
        elif child.type != "string":
            yield from _unquoted_in(child)


def _in_array(node: Node, _source: str) -> Iterator[Doubt]:
    """``([x]=1)`` computes its index."""
    for source in map(source_of, node.named_children):
        if not _PLAIN_ELEMENT.match(source):
            yield _arithmetic(source)


def _in_loop(node: Node, _source: str) -> Iterator[Doubt]:
    variable = node.child_by_field_name("variable")
    if variable is not None and is_special(source_of(variable)):
        yield Doubt(f"{source_of(variable)} changes what is run")


def _in_declaration(node: Node, _source: str) -> Iterator[Doubt]:
    """``declare -i`` computes what is assigned, ``-n`` gives a name to anything."""
    for child in node.named_children:
        source = source_of(child)
        if is_special(source):
            yield Doubt(f"{source} changes what is run")
        if child.type in ("variable_name", "variable_assignment"):
            continue
        if child.type == "word" and _PLAIN_OPTIONS.fullmatch(source):
            continue
        if child.type == "word" and re.fullmatch(r"\w+|-[fv]", source):
            continue
        yield Doubt(f"{shown(source)} may be more than a name")


def _below(node: Node) -> Iterator[Node]:
    for child in node.named_children:
        yield child
        yield from _below(child)


_CHECKS: dict[str, Callable[[Node, str], Iterator[Doubt]]] = {
    "arithmetic_expansion": _in_arithmetic,
    "compound_statement": _in_compound,
    "c_style_for_statement": _in_counting_loop,
    "expansion": _in_expansion,
    "simple_expansion": _in_simple_expansion,
    "subscript": _in_subscript,
    "variable_assignment": _in_assignment,
    "file_redirect": _in_redirect,
    "test_command": _in_test,
    "array": _in_array,
    "for_statement": _in_loop,
    "declaration_command": _in_declaration,
    "unset_command": _in_declaration,
}
