"""Plain words for what a YAML parser says about a malformed text."""

from __future__ import annotations

import yaml

from holodeck_backend_claude.config.problems import Mark

_INDENTATION = "lines of one mapping or list begin in the same column: compare with those above"
_UNCLOSED = "the bracket or brace that opens in line {line} is not closed"

# What the parser says begins with or contains the first; the reader gets the other two.
_WORDS = (
    (
        "mapping values are not allowed",
        "a second ':' in one line, or a line that is indented too far",
        "text that contains ': ' has to be in quotes",
    ),
    (
        "block sequence entries are not allowed",
        "a list item '- ' stands in the line of its key",
        "begin the list on its own line",
    ),
    (
        "sequence entries are not allowed",
        "a list item '- ' stands in the line of its key",
        "begin the list on its own line",
    ),
    (
        "could not find expected ':'",
        "line {line} is neither 'key: value' nor part of the text above it",
        "add the ':' and the value, or indent the line",
    ),
    ("did not find expected key", "this line fits no mapping above it", _INDENTATION),
    ("did not find expected '-'", "this line fits no list above it", _INDENTATION),
    ("expected <block end>", "this line fits no mapping or list above it", _INDENTATION),
    ("expected ',' or", _UNCLOSED, "separate items by ',' and close with ']' or '}'"),
    (
        "unexpected end of stream",
        "the quote that opens in line {line} is not closed",
        "close it with the same kind of quote",
    ),
    (
        "unknown escape character",
        "unknown escape after '\\' in a text in double quotes",
        "write '\\\\' for a backslash, or use single quotes",
    ),
    (
        "undefined tag handle",
        "this tag is not supported",
        "text that begins with '!' has to be in quotes",
    ),
)  # fmt: skip


def explain(error: yaml.MarkedYAMLError, text: str) -> tuple[Mark | None, str, str | None]:
    """Say where a text stops being YAML, why, and what to do.

    The text itself is not quoted: a line that is malformed may hold a key of its owner.
    """
    mark = error.problem_mark
    problem = error.problem or "not YAML"
    place = Mark(mark.line + 1, mark.column + 1) if mark else None
    if "cannot start any token" in problem or "tab character" in problem:
        return place, *_bad_character(text, place)
    for said, message, hint in _WORDS:
        if said in problem:
            opened = error.context_mark
            line = opened.line + 1 if opened else (place.line if place else 1)
            return place, message.format(line=line), hint
    if "nesting" in problem:
        return place, "the values nest too deep", None
    return place, f"not YAML: {problem}", None


def _bad_character(text: str, place: Mark | None) -> tuple[str, str]:
    lines = text.splitlines()
    line = lines[place.line - 1] if place and place.line <= len(lines) else ""
    character = line[place.column - 1 : place.column] if place else ""
    if character in {"\t", ""}:
        return "a tab stands in the indentation", "indent with spaces"
    return (
        f"text cannot begin with {character!r}",
        "put the value in quotes",
    )
