"""Records of CSV, JSON and JSON Lines: every setting has its effect, bad files say why."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holodeck_backend_claude.retrieval.documents.formats import UnreadableError
from holodeck_backend_claude.retrieval.documents.records import (
    Record,
    RecordSettings,
    records_in,
)

ITEMS = [
    {"id": 1, "name": "Lamp", "text": "Gives light.", "price": 9.5, "tags": ["a"]},
    {"id": "b2", "name": "Desk", "text": "Has legs.", "price": None, "tags": []},
]


def settings(**more: Any) -> RecordSettings:
    return RecordSettings(**{"id_field": "id", "vector_fields": ("text",), **more})


def read(name: str, text: str, **more: Any) -> list[Record]:
    return records_in(name, text.encode(), settings(**more))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", json.dumps(ITEMS)),
        ("a.jsonl", "\n".join(map(json.dumps, ITEMS)) + "\n\n"),
        ("a.ndjson", "\n".join(map(json.dumps, ITEMS))),
        ("a.csv", "id,name,text\n1,Lamp,Gives light.\nb2,Desk,Has legs.\n"),
        ("a.TSV", "id\tname\ttext\n1\tLamp\tGives light.\nb2\tDesk\tHas legs.\n"),
    ],
)
def test_each_record_has_its_id_and_what_is_searched(name: str, text: str) -> None:
    assert read(name, text) == [Record("1", "Gives light."), Record("b2", "Has legs.")]


def test_several_fields_are_searched_together() -> None:
    (first, _) = read("a.json", json.dumps(ITEMS), vector_fields=("name", "text"))
    assert first.content == "Lamp\nGives light."
    (first, _) = read(
        "a.json", json.dumps(ITEMS), vector_fields=("name", "text"), field_separator=" - "
    )
    assert first.content == "Lamp - Gives light."


def test_meta_fields_are_told_in_their_order_as_text() -> None:
    (first, second) = read("a.json", json.dumps(ITEMS), meta_fields=("price", "tags", "none"))
    assert first.metadata == (("price", "9.5"), ("tags", '["a"]'))
    assert second.metadata == (("price", ""), ("tags", "[]"))


def test_the_delimiter_is_the_one_that_is_given() -> None:
    text = "id~text, or so\n1~a, b\n"
    (record,) = read("a.csv", text, vector_fields=("text, or so",), delimiter="~")
    assert record == Record("1", "a, b")


DOCUMENT = {"source": "shop", "data": {"year": 2024, "name": "outer", "items": ITEMS}}


class TestPath:
    def test_records_are_found_where_they_are(self) -> None:
        found = read("a.json", json.dumps(DOCUMENT), record_path="data.items")
        assert [record.id for record in found] == ["1", "b2"]

    def test_fields_around_the_records_are_told_with_their_own_prefix(self) -> None:
        (first, _) = read(
            "a.json",
            json.dumps(DOCUMENT),
            record_path="data.items",
            meta_fields=("name", "year", "source"),
            record_prefix="item_",
            meta_prefix="shop_",
        )
        assert first.metadata == (
            ("item_name", "Lamp"),  # its own, though one around it has that name, too
            ("shop_year", "2024"),
            ("shop_source", "shop"),
        )

    def test_a_path_that_leads_nowhere_says_what_is_there(self) -> None:
        with pytest.raises(UnreadableError, match=r"there is no 'things' in it, but year, name"):
            read("a.json", json.dumps(DOCUMENT), record_path="data.things")
        with pytest.raises(UnreadableError, match="no fields at all"):
            read("a.json", json.dumps(ITEMS), record_path="data")

    def test_a_single_record_is_one(self) -> None:
        assert [r.id for r in read("a.json", json.dumps(ITEMS[0]))] == ["1"]


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.json", json.dumps([{"text": "x"}]), r"record 1 has no 'id' \(id_field\); .*: text"),
        ("a.csv", "id,words\n1,x\n", r"record 1 has no 'text' \(vector_field\); .*: id, words"),
        ("a.json", json.dumps([ITEMS[0], ITEMS[0]]), r"two records have the id '1' \(.* record 2"),
        ("a.jsonl", '{"id": 1, "text": "x"}\n{', "line 2 is no JSON"),
        ("a.json", "[1]", "record 1 is no record with fields, but int"),
        ("a.json", "{", "it is no JSON"),
        ("a.md", "# Text", "it holds no records: with vector_field, .csv"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(name: str, text: str, why: str) -> None:
    with pytest.raises(UnreadableError, match=why):
        read(name, text)


def test_a_record_without_anything_to_search_is_left_out() -> None:
    assert read("a.json", json.dumps([{"id": 1, "text": "  "}, {"id": 2, "text": "x"}])) == [
        Record("2", "x")
    ]
