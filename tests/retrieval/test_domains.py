"""Numbered parts of laws, papers, manuals and contracts become sections."""

from __future__ import annotations

import pytest

from holodeck_backend_claude.retrieval.documents.domains import DOMAINS, Domain, subdivided
from holodeck_backend_claude.retrieval.documents.markdown import Block, Section, sections


def parts(text: str, domain: Domain, depth: int | None = None) -> list[tuple[str, str]]:
    """``(id, the first line)`` of each section."""
    found = [
        part for section in sections(text) for part in subdivided(section, domain, depth=depth)
    ]
    return [(part.anchor, part.blocks[0].text.split("\n")[0]) for part in found if part.blocks]


US = """\
Title I General
§ 101. Short title
This Act may be cited.
§ 102. Duties
(a) In general. The agency shall act.
(1) First duty.
(2) Second duty.
(A) A detail.
(i) A finer one.
(ii) Another.
(b) Exception.
"""


def test_the_parts_of_a_law_of_the_united_states_nest() -> None:
    assert [anchor for anchor, _ in parts(US, "us_legislative")] == [
        "Title I",
        "Title I, § 101",
        "Title I, § 102",
        "Title I, § 102(a)",
        "Title I, § 102(a)(1)",
        "Title I, § 102(a)(2)",
        "Title I, § 102(a)(2)(A)",
        "Title I, § 102(a)(2)(A)(i)",
        "Title I, § 102(a)(2)(A)(ii)",
        "Title I, § 102(b)",
    ]


def test_the_letter_i_after_h_is_no_numeral() -> None:
    text = "\n".join(["§ 5 List", *(f"({letter}) item" for letter in "abcdefghij")])
    assert [anchor for anchor, _ in parts(text, "us_legislative")][-3:] == [
        "§ 5(h)",
        "§ 5(i)",
        "§ 5(j)",
    ]


@pytest.mark.parametrize(
    ("domain", "text", "anchors"),
    [
        (
            "au_legislative",
            "Part 2 Rules\nDivision 1 Duties\n12A Meaning\n(1) One.\n(a) two\n(i) three",
            [
                "Part 2",
                "Part 2, Division 1",
                "Part 2, Division 1, s 12A",
                "Part 2, Division 1, s 12A(1)",
                "Part 2, Division 1, s 12A(1)(a)",
                "Part 2, Division 1, s 12A(1)(a)(i)",
            ],
        ),
        (
            "academic",
            "1 Introduction\nWords.\n1.1 Scope\nMore.\n2. Methods\nLess.\nAppendix B Data",
            ["1", "1, 1.1", "2", "Appendix B"],
        ),
        (
            "technical",
            "1. Install\nStep 1 Open the box\nStep 2: Close it\n1.2 Wiring of the unit",
            ["1", "1, Step 1", "1, Step 2", "1, 1.2"],
        ),
        (
            "legal_contract",
            "ARTICLE IV Payment\nSection 4.1 Fees\n(a) cash\n(i) gold\n4.2 Late\nExhibit A Prices",
            [
                "Article IV",
                "Article IV, 4.1",
                "Article IV, 4.1(a)",
                "Article IV, 4.1(a)(i)",
                "Article IV, 4.2",
                "Exhibit A",
            ],
        ),
    ],
)
def test_each_domain_knows_its_parts(domain: Domain, text: str, anchors: list[str]) -> None:
    assert [anchor for anchor, _ in parts(text, domain)] == anchors


def test_parts_stand_below_the_heading_they_are_under_with_their_short_titles() -> None:
    text = "# Act\n\nBefore.\n\n§ 1 Name\n\nIt has a name.\n\n## Annex\n\nAfter."
    found = [p for s in sections(text) for p in subdivided(s, "us_legislative") if p.blocks]
    assert [(part.chain, part.anchor) for part in found] == [
        (("Act",), "act"),
        (("Act", "§ 1 Name"), "§ 1"),
        (("Act", "Annex"), "annex"),
    ]


def test_no_text_is_lost_or_said_twice() -> None:
    found = [p for s in sections(US) for p in subdivided(s, "us_legislative")]
    kept = "\n".join(block.text for part in found for block in part.blocks)
    assert kept == US.strip()


@pytest.mark.parametrize(
    ("depth", "anchors"),
    [
        (1, ["Title I"]),
        (5, ["Title I", "Title I, § 101", "Title I, § 102"]),
        (
            6,
            [
                "Title I",
                "Title I, § 101",
                "Title I, § 102",
                "Title I, § 102(a)",
                "Title I, § 102(b)",
            ],
        ),
    ],
)
def test_the_depth_bounds_the_levels(depth: int, anchors: list[str]) -> None:
    assert [anchor for anchor, _ in parts(US, "us_legislative", depth)] == anchors


def test_what_no_domain_is_named_for_stays_whole() -> None:
    (section,) = sections("§ 1 One.\n(a) two")
    assert subdivided(section, "none") == [section]


def test_code_and_tables_are_never_cut() -> None:
    fence = Block("fence", "```\n(a) code\n(b) code\n```")
    section = Section(blocks=[Block("text", "(a) text"), fence])
    *_, last = subdivided(section, "us_legislative")
    assert last.blocks == [Block("text", "(a) text"), fence]


@pytest.mark.parametrize("domain", list(DOMAINS))
def test_prose_has_no_parts(domain: Domain) -> None:
    text = "It took 5 days (see a) and 3.5 hours. In part because of rain.\nPartly 7 men left."
    assert [anchor for anchor, _ in parts(text, domain)] == [""]
