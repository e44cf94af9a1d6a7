"""Chunks: within the limit, never across a heading, with overlap, nothing torn or lost."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from holodeck_backend_claude.retrieval.documents.chunking import Chunk, chunk_markdown, chunk_text
from holodeck_backend_claude.retrieval.wordpiece import count_tokens

SENTENCES = [f"Sentence number {n} tells a little more." for n in range(40)]

NASTY = {
    "no spaces": "x" * 20_000,
    "words": "word " * 5_000,
    "ideographs": "字" * 5_000,
    "japanese": "これは文です。" * 1_000,
    "thai": "ภาษาไทยไม่มีช่องว่าง" * 500,
    "accents": "é" * 5_000,
    "emoji": "🙂‍↔️" * 2_000,
    "punctuation": "!?.,;" * 2_000,
    "long heading": "# " + "heading " * 2_000,
    "heading and text": "# " + "heading " * 200 + "\n\ntext",
    "long fence": "```python\n" + "print(1)\n" * 2_000 + "```",
    "long fence line": "```\n" + "z" * 20_000,
    "long info string": "```" + "info" * 500 + "\ncode\n```\n",
    "long table": "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 2_000,
    "wide table": "| " + "a | " * 500 + "\n| " + "--- | " * 500 + "\n| " + "1 | " * 500,
    "list": "- an item\n" * 2_000,
    "open fences": "    ```x\n" * 2_000,
    "open comments": "<!-- a\n" * 2_000,
    "brackets": "[a](b" * 5_000,
    "empty headings": "#\n" * 2_000,
    "blank lines": "\n" * 5_000 + "end",
    "quotes": '"' * 5_000,
}


def contents(chunks: list[Chunk]) -> list[str]:
    return [chunk.content for chunk in chunks]


@pytest.mark.parametrize("cut", [chunk_markdown, chunk_text])
@pytest.mark.parametrize(("size", "overlap"), [(16, 0), (16, 15), (200, 30), (8_192, 4_096)])
@pytest.mark.parametrize("name", NASTY)
def test_no_chunk_is_over_the_limit_whatever_the_text(
    name: str, size: int, overlap: int, cut: Any
) -> None:
    chunks = cut(NASTY[name], size=size, overlap=overlap)
    assert max((count_tokens(chunk.content) for chunk in chunks), default=0) <= size
    assert all(chunk.content.strip() for chunk in chunks)


@pytest.mark.parametrize("name", ["words", "ideographs", "japanese", "thai", "list"])
def test_every_character_of_a_text_is_in_some_chunk(name: str) -> None:
    chunks = chunk_text(NASTY[name], size=50, overlap=0)
    assert "".join("".join(contents(chunks)).split()) == "".join(NASTY[name].split())


def test_a_chunk_never_crosses_a_heading() -> None:
    text = "".join(f"# H{n}\n\nBody of {n}. It is short.\n\n" for n in range(20))
    chunks = chunk_markdown(text, size=200, overlap=50)
    assert [chunk.parent_chain for chunk in chunks] == [(f"H{n}",) for n in range(20)]
    assert all(chunk.content.count("#") == 1 for chunk in chunks)


def test_chunks_know_their_headings_and_section() -> None:
    text = "Intro.\n\n# Guide\n\n## Refunds\n\nWithin 30 days.\n"
    intro, refunds = chunk_markdown(text, size=50, overlap=0)
    assert (intro.content, intro.parent_chain, intro.section_id) == ("Intro.", (), "")
    assert refunds == Chunk(
        content="## Refunds\n\nWithin 30 days.",
        parent_chain=("Guide", "Refunds"),
        section_id="refunds",
        context="Guide",
    )


def test_a_later_chunk_of_a_section_is_searchable_by_its_heading() -> None:
    first, *later = chunk_markdown("# Refunds\n\n" + " ".join(SENTENCES), size=60, overlap=0)
    assert first.searchable.count("Refunds") == 1
    assert later
    assert all(chunk.searchable.startswith("Refunds\n") for chunk in later)


def test_a_heading_without_any_text_is_found_all_the_same() -> None:
    text = "# Parent\n\n## Child\n\n## Sibling\n\nText.\n\n# Last\n"
    assert contents(chunk_markdown(text, size=50, overlap=0)) == [
        "## Child",
        "## Sibling\n\nText.",
        "# Last",
    ]


def test_sentences_stay_whole_where_they_fit() -> None:
    chunks = chunk_text(" ".join(SENTENCES), size=50, overlap=0)
    assert all(chunk.content.endswith("more.") for chunk in chunks)
    assert all(chunk.content.startswith("Sentence") for chunk in chunks)


def test_the_end_of_a_chunk_is_repeated_up_to_the_overlap() -> None:
    chunks = contents(chunk_text(" ".join(SENTENCES), size=50, overlap=20))
    for before, after in pairwise(chunks):
        shared = SENTENCES.index(after[: len(SENTENCES[0]) + 1].rstrip())
        assert SENTENCES[shared] in before
        assert count_tokens(SENTENCES[shared]) * 2 <= 20


def test_without_overlap_nothing_is_repeated() -> None:
    chunks = contents(chunk_text(" ".join(SENTENCES), size=50, overlap=0))
    assert " ".join(chunks) == " ".join(SENTENCES)


def test_overlap_reaches_into_a_sentence_that_had_to_be_cut() -> None:
    words = " ".join(f"w{n}" for n in range(300))
    chunks = contents(chunk_text(words, size=50, overlap=20))
    assert all(after.split()[0] in before.split() for before, after in pairwise(chunks))


def test_a_code_block_that_fits_is_not_torn() -> None:
    fence = "```python\n" + "\n".join(f"x{n} = {n}  # a comment" for n in range(6)) + "\n```"
    text = f"# Code\n\n{' '.join(SENTENCES[:6])}\n\n{fence}\n\n{' '.join(SENTENCES[6:12])}"
    chunks = contents(chunk_markdown(text, size=90, overlap=10))
    assert sum(fence in chunk for chunk in chunks) == 1


def test_a_code_block_that_is_too_long_keeps_a_fence_around_each_part() -> None:
    text = "```python\n" + "print('a line')\n" * 100 + "```"
    chunks = contents(chunk_markdown(text, size=60, overlap=0))
    assert len(chunks) > 1
    assert all(c.startswith("```python\n") and c.endswith("\n```") for c in chunks)


def test_a_table_that_is_too_long_keeps_its_header_over_each_part() -> None:
    head = "| name | price |\n|------|-------|"
    text = head + "".join(f"\n| n{n} | {n} |" for n in range(100))
    chunks = contents(chunk_markdown(text, size=60, overlap=0))
    assert len(chunks) > 1
    assert all(chunk.startswith(head) for chunk in chunks)


def test_paragraphs_are_kept_together_where_that_leaves_no_half_empty_chunk() -> None:
    paragraphs = [" ".join(SENTENCES[n : n + 3]) for n in range(0, 12, 3)]
    chunks = contents(chunk_text("\n\n".join(paragraphs), size=40, overlap=0))
    assert chunks == paragraphs


def test_a_text_of_white_space_has_no_chunks() -> None:
    assert chunk_text(" \n\n\t ", size=16, overlap=0) == []
    assert chunk_markdown("\n#\n\n##\n", size=16, overlap=0) == []
