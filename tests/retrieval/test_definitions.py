"""Definitions and references are found in documents as they are written."""

from __future__ import annotations

import pytest

from holodeck_backend_claude.retrieval.documents.definitions import Definition, definitions_in
from holodeck_backend_claude.retrieval.documents.domains import subdivided
from holodeck_backend_claude.retrieval.documents.markdown import sections
from holodeck_backend_claude.retrieval.documents.references import Places, Reference


@pytest.mark.parametrize(
    ("text", "term", "meaning"),
    [
        ('"Goods" means things that are sold.', "Goods", "things that are sold."),
        ("“Goods” shall mean things.", "Goods", "things."),
        ("**Net price** refers to the price without tax.", "Net price", "the price without tax."),
        ('In this act, "day" is defined as 24 hours.', "day", "24 hours."),
        ("- **Vendor**: who sells.", "Vendor", "who sells."),
        ("**Vendor:** who sells.", "Vendor", "who sells."),
        ("**Vendor** — who sells.", "Vendor", "who sells."),
        (
            'First. Acme Ltd of London (the "Vendor") sells goods. Then more.',
            "Vendor",
            'Acme Ltd of London (the "Vendor") sells goods',
        ),
        ("# Definitions\n\nGoods: things that are sold", "Goods", "things that are sold"),
        ("# Glossary\n\n- Goods - things", "Goods", "things"),
        ("# Glossary\n\n| Term | Meaning |\n|---|---|\n| Goods | things |", "Goods", "things"),
        ('"Goods" means things\nthat are sold.\n\nNext.', "Goods", "things that are sold."),
    ],
)
def test_a_definition_is_found(text: str, term: str, meaning: str) -> None:
    assert definitions_in(sections(text)) == [Definition(term, meaning)]


@pytest.mark.parametrize(
    "text",
    [
        "Goods: things that are sold.",  # under no heading that says so
        "He means well.",
        'She said "no" and left.',
        "**Note** this well.",
        '```\n"x" means y\n```',
        '"one two three four five six seven eight nine" means too much.',
        "See (the appendix).",
    ],
)
def test_what_defines_nothing_is_none(text: str) -> None:
    assert definitions_in(sections(text)) == []


def test_each_term_counts_once_and_long_texts_are_cut() -> None:
    text = f'"Goods" means {"x" * 2_000}.\n\n"GOODS" means another thing.'
    (definition,) = definitions_in(sections(text))
    assert definition.term == "Goods"
    assert len(definition.text) == 500


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ['"a', "**a", "(the ", "- **", "a: ", '" means ', "* "])
def test_no_text_takes_more_than_linear_time(piece: str) -> None:
    definitions_in(sections("# Glossary\n\n" + piece * 20_000))


DOCUMENT = """\
# 1 Scope

As in [the fees](#42-fees), and in section 4.2 and § 9.

# 4.2 Fees

Fees are due; see Section 1 and Section 4.2(a), Article 77.

# Annex

Nothing.
"""


def references(text: str, section: int) -> list[Reference]:
    found = sections(text)
    places = Places(found)
    whole = "\n".join(block.text for block in found[section].blocks)
    return places.referred_to(whole, from_section=found[section].anchor)


def test_references_lead_to_sections_of_the_same_document_and_never_to_their_own() -> None:
    assert references(DOCUMENT, 1) == [Reference("the fees", "42-fees")]
    assert references(DOCUMENT, 2) == [Reference("Section 1", "1-scope")]
    assert references(DOCUMENT, 3) == []


def test_references_between_numbered_parts_are_resolved() -> None:
    text = "§ 1. Words\nSee § 12(b) and section 12.\n§ 12. Duties\n(a) One.\n(b) Two."
    found = [p for s in sections(text) for p in subdivided(s, "us_legislative")]
    places = Places(found)
    assert places.referred_to("See § 12(b), § 1(c) and § 3.", from_section="§ 1") == [
        Reference("§ 12(b)", "§ 12(b)")
    ]
