"""Blocks of text as segments: the smallest pieces that are packed whole into chunks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from holodeck_backend_claude.retrieval.documents.markdown import Block
from holodeck_backend_claude.retrieval.wordpiece import count_tokens

BLOCK_GAP = "\n\n"

_SENTENCE_END = re.compile(
    r"(?<=[.!?…])[\"'”’»)\]]*(?=\s+[^\sa-z])"  # the next sentence begins with no small letter
    r"|(?<=[。！？])[」』”）]*(?=\S)"
    r"|(?=\n[ \t]*(?:[-*+•]|\d{1,9}[.)])[ \t])"  # the next item of a list
)
_WORD_END = re.compile(r"(?<=\S)(?=\s)")
_LONGEST_PART = 8  # tokens of one part of a word that is cut
_CHARS_PER_TOKEN = 2  # at least, for parts: keeps the count of parts above that of the whole


@dataclass(frozen=True)
class Segment:
    """A piece that fits into a chunk.

    Attributes:
        text: The piece, without white space around it.
        tokens: How many tokens it has.
        gap: What stands between it and the segment before it.
        repeats: Whether it may be repeated at the start of the next chunk.
    """

    text: str
    tokens: int
    gap: str
    repeats: bool = True


def block_segments(block: Block, size: int) -> list[Segment]:
    """A block as segments of at most ``size`` tokens.

    Text is cut into sentences, a sentence that is too long into words, a word that is too long
    into parts. Fenced code and tables are one segment where they fit; otherwise they are cut
    between lines, each part with the fence or the header row around it.
    """
    if block.kind == "text":
        return list(_sentences(block.text, BLOCK_GAP, size))
    tokens = count_tokens(block.text)
    if tokens <= size:
        return [Segment(block.text, tokens, BLOCK_GAP, repeats=False)]
    return list(_groups_of_lines(block, size))


def _pieces(text: str, ends: re.Pattern[str], first_gap: str) -> Iterator[tuple[str, str]]:
    """The pieces of a text with the white space before each."""
    cuts = [0, *(match.end() for match in ends.finditer(text)), len(text)]
    for start, end in pairwise(cuts):
        piece = text[start:end]
        body = piece.strip()
        if body:
            yield (piece[: len(piece) - len(piece.lstrip())] if start else first_gap), body


def _sentences(text: str, gap: str, size: int) -> Iterator[Segment]:
    for before, sentence in _pieces(text, _SENTENCE_END, gap):
        tokens = count_tokens(sentence)
        if tokens <= size:
            yield Segment(sentence, tokens, before)
        else:
            yield from _words(sentence, before, size)


def _words(text: str, gap: str, size: int) -> Iterator[Segment]:
    longest = max(1, min(size // 2, _LONGEST_PART))
    for before, word in _pieces(text, _WORD_END, gap):
        tokens = count_tokens(word)
        if tokens <= longest:
            yield Segment(word, tokens, before)
        else:
            yield from _parts(word, before, longest)


def _parts(word: str, gap: str, longest: int) -> Iterator[Segment]:
    """A word without white space, cut after so many tokens."""
    start = 0
    while start < len(word):
        end = min(len(word), start + longest * _CHARS_PER_TOKEN)
        while (tokens := _part_tokens(word[start:end])) > longest and end - start > 1:
            end = start + max(1, (end - start) // 2)
        yield Segment(word[start:end], tokens, "" if start else gap)
        start = end


def _part_tokens(part: str) -> int:
    return max(count_tokens(part), -(-len(part) // _CHARS_PER_TOKEN))


def _groups_of_lines(block: Block, size: int) -> Iterator[Segment]:
    """The lines of a block in groups that fit, each between the same first and last lines."""
    lines = block.text.split("\n")
    head, body, tail = _frame(block, lines)
    frame_tokens = count_tokens("\n".join([*head, *tail]))
    if frame_tokens > size // 2:
        head, body, tail, frame_tokens = [], lines, [], 0
    group: list[str] = []
    used = frame_tokens
    for gap, line, tokens in _short_lines(body, size - frame_tokens):
        if group and used + tokens > size:
            yield _group(head, group, tail, used)
            group, used = [], frame_tokens
        if group and not gap:
            group[-1] += line
        else:
            group.append(line)
        used += tokens
    if group:
        yield _group(head, group, tail, used)


def _frame(block: Block, lines: list[str]) -> tuple[list[str], list[str], list[str]]:
    """What begins and ends each part: a fence around code, the header row above table rows."""
    if block.kind == "table":
        return lines[:2], lines[2:], []
    mark = lines[0].strip()[0]
    is_closed = len(lines) > 1 and set(lines[-1].strip()) == {mark}
    length = len(lines[0].strip()) - len(lines[0].strip().lstrip(mark))
    closing = lines[-1] if is_closed else mark * length
    return lines[:1], lines[1:-1] if is_closed else lines[1:], [closing]


def _short_lines(lines: list[str], size: int) -> Iterator[tuple[str, str, int]]:
    """Lines with their tokens; a line that is too long comes in parts, without a gap between."""
    for line in lines:
        tokens = count_tokens(line)
        if tokens <= size:
            yield "\n", line, tokens
            continue
        for number, segment in enumerate(_words(line, "", size)):
            yield ("" if number else "\n"), segment.gap + segment.text, segment.tokens


def _group(head: list[str], lines: list[str], tail: list[str], tokens: int) -> Segment:
    return Segment("\n".join([*head, *lines, *tail]), tokens, BLOCK_GAP, repeats=False)
