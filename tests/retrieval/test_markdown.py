"""Sections and blocks of Markdown documents."""

from __future__ import annotations

import pytest

from holodeck_backend_claude.retrieval.documents.markdown import Section, sections


def outline(text: str) -> list[tuple[int, str]]:
    return [(section.level, section.chain[-1]) for section in sections(text)[1:] if section.chain]


def only(text: str) -> Section:
    (section,) = sections(text)
    return section


def test_headings_of_both_kinds_make_sections() -> None:
    text = "# One\n\nTwo\n===\n\nThree\nin two lines\n---\n\n###### Six ######\n"
    assert outline(text) == [(1, "One"), (1, "Two"), (2, "Three in two lines"), (6, "Six")]


def test_text_before_the_first_heading_is_a_section_of_its_own() -> None:
    first, second = sections("Before.\n\n# After\n\nText.")
    assert (first.level, first.chain, [block.text for block in first.blocks]) == (
        0,
        (),
        ["Before."],
    )
    assert second.chain == ("After",)


def test_the_chain_follows_the_levels_also_over_gaps() -> None:
    chains = [s.chain for s in sections("# A\n### C\n## B\n#### D\n# E\n")[1:]]
    assert chains == [("A",), ("A", "C"), ("A", "B"), ("A", "B", "D"), ("E",)]


@pytest.mark.parametrize(
    "text",
    [
        "```\n# no\n```",
        "~~~~ python\n# no\n~~~\n# no\n~~~~",
        "```\n# no\nnever closed",
        "1. item\n\n    ```sh\n    # no\n    ```",
        "    # indented code",
        "> # quoted",
        "#hashtag",
        "####### seven",
        "\\# escaped",
        "<!--\n# no\n-->",
        "<pre>\n# no\n</pre>",
        "- item\n---",
        "a | b\n--- | ---\n1 | 2",
        "\n---\n",
        "* * *",
    ],
)
def test_what_only_looks_like_a_heading_is_none(text: str) -> None:
    assert outline(text) == []


def test_front_matter_is_text_and_no_heading() -> None:
    first, second = sections("---\ntitle: Guide\ntags: x\n---\n# Real\n")
    assert [block.text for block in first.blocks] == ["title: Guide\ntags: x"]
    assert second.chain == ("Real",)


def test_a_heading_after_a_fence_that_was_closed_counts() -> None:
    assert outline("```\n# no\n```\n# yes") == [(1, "yes")]


def test_fences_and_tables_are_blocks_of_their_own() -> None:
    text = "Text.\n```py\na\n\nb\n```\nMore.\n\n| a |\n|---|\n| 1 |\n\nEnd."
    assert [(block.kind, block.text) for block in only(text).blocks] == [
        ("text", "Text."),
        ("fence", "```py\na\n\nb\n```"),
        ("text", "More."),
        ("table", "| a |\n|---|\n| 1 |"),
        ("text", "End."),
    ]


def test_titles_lose_their_marks() -> None:
    assert outline("# The **bold** `code` [link](http://x.test/a_b) and _more_") == [
        (1, "The bold code link and more")
    ]


def test_anchors_are_those_that_links_use() -> None:
    text = "# Refund Policy!\n## Größe & Maß\n# Refund policy\n# Given {#own-id}\n# 返金\n"
    assert [s.anchor for s in sections(text)[1:]] == [
        "refund-policy",
        "größe--maß",
        "refund-policy-1",
        "own-id",
        "返金",
    ]


def test_nothing_of_the_text_is_lost() -> None:
    text = "a\n# b\nc\n```\nd\n```\ne | f\n--|--\n1 | 2\n<!-- g -->\n- h\n\n    i\n"
    kept = "".join(s.heading + "".join(b.text for b in s.blocks) for s in sections(text))
    assert sorted(kept.replace("\n", "")) == sorted(text.replace("\n", ""))


def test_a_paragraph_right_above_a_table_is_kept_whatever_stands_below_it() -> None:
    text = "A paragraph.\na | b\n--|--\n1 | 2\nmore\n===\nlast"
    assert [(block.kind, block.text) for block in only(text).blocks] == [
        ("text", "A paragraph."),
        ("table", "a | b\n--|--\n1 | 2\nmore\n===\nlast"),
    ]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# A #", "A"),
        ("# A ##  ", "A"),
        ("# A#", "A#"),
        ("# A # b", "A # b"),
        ("# #", ""),
        ("#", ""),
        ("##\t A \t#", "A"),
        ("# C# #", "C#"),
    ],
)
def test_marks_that_close_a_heading_are_not_of_its_title(line: str, title: str) -> None:
    ((_, found),) = [(s.level, s.chain[-1] if s.chain else "") for s in sections(line)[1:]]
    assert found == title
