"""Each piece of text is given out once, however it comes."""

from __future__ import annotations

from holodeck_backend_claude.claude.turns.text_stream import TextStream


def test_a_message_that_follows_its_deltas_adds_nothing() -> None:
    deltas = TextStream()
    deltas.begin("m1")
    assert [deltas.add("a"), deltas.add("b"), deltas.complete("m1", "ab")] == ["a", "b", ""]
    assert deltas.unfinished == ""


def test_a_message_without_deltas_is_given_out_whole() -> None:
    assert TextStream().complete("m1", "ab") == "ab"


def test_an_answer_that_is_streamed_again_goes_on_where_it_broke_off() -> None:
    deltas = TextStream()
    deltas.begin("m1")
    said = [deltas.add("one "), deltas.add("two ")]
    deltas.begin("m2")
    said += [deltas.add("one t"), deltas.add("wo th"), deltas.add("ree")]
    assert "".join(said) == "one two three"
    assert deltas.complete("m2", "one two three") == ""


def test_an_answer_that_comes_again_whole_adds_what_was_missing() -> None:
    deltas = TextStream()
    deltas.begin("m1")
    deltas.add("one ")
    assert deltas.complete("m2", "one two") == "two"


def test_a_second_answer_that_differs_begins_a_new_paragraph() -> None:
    deltas = TextStream()
    deltas.begin("m1")
    deltas.add("one ")
    deltas.begin("m2")
    assert deltas.add("uno") == "\n\nuno"
    assert deltas.add(" dos") == " dos"


def test_what_broke_off_is_known_until_it_is_replaced() -> None:
    deltas = TextStream()
    deltas.begin("m1")
    deltas.add("one ")
    assert deltas.unfinished == "one "
