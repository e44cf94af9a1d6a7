"""The text form of a result."""

from __future__ import annotations

from dataclasses import fields

from holodeck_backend_claude.retrieval import SearchResult


def result(**changes: object) -> SearchResult:
    given: dict[str, object] = {
        "chunk_id": "guide.md#3",
        "content": "Refunds take 30 days.",
        "fused_score": 0.85,
        "source_path": "guide.md",
        "parent_chain": ["Guide", "Refunds"],
        "section_id": "refunds",
    }
    return SearchResult(**{**given, **changes})  # type: ignore[arg-type]


def test_a_result_reads_as_score_location_section_and_content() -> None:
    assert result().format() == (
        "Score: 0.850 | Source: guide.md\n"
        "Location: Guide > Refunds\n"
        "Section: refunds\n"
        "\n"
        "Refunds take 30 days."
    )


def test_a_passage_above_all_headings_is_at_the_root_and_has_no_section_line() -> None:
    assert result(parent_chain=[], section_id="").format() == (
        "Score: 0.850 | Source: guide.md\nLocation: Root\n\nRefunds take 30 days."
    )


def test_definitions_follow_the_content_and_are_cut_at_100_characters() -> None:
    told = result(definitions_context=[("Refund", "x" * 150), ("Day", "24 hours")]).format()
    assert told.endswith(
        "Refunds take 30 days.\n\nRelevant definitions:\n"
        f"  - Refund: {'x' * 100}\n  - Day: 24 hours"
    )


def test_definitions_may_be_a_mapping() -> None:
    pairs = result(definitions_context=[("Day", "24 hours")])
    mapping = result(definitions_context={"Day": "24 hours"})
    assert mapping.format() == pairs.format()


def test_the_fields_stand_in_the_published_order() -> None:
    assert [field.name for field in fields(SearchResult)] == [
        "chunk_id",
        "content",
        "fused_score",
        "source_path",
        "parent_chain",
        "section_id",
        "subsection_ids",
        "semantic_score",
        "keyword_score",
        "exact_match",
        "definitions_context",
        "chunk_type",
        "record_id",
        "metadata",
    ]
