"""Streamed tool calls in the ways in which servers of OpenAI's format send them."""

from __future__ import annotations

from typing import Any

import pytest

from holodeck_backend_claude.sk._imports import (
    AuthorRole,
    FunctionCallContent,
    StreamingChatMessageContent,
)
from holodeck_backend_claude.sk.assembly import CallAssembly


def assembled(*pieces: dict[str, Any]) -> list[tuple[str | None, str | None, Any]]:
    assembly = CallAssembly()
    for piece in pieces:
        message = StreamingChatMessageContent(
            role=AuthorRole.ASSISTANT, choice_index=0, items=[FunctionCallContent(**piece)]
        )
        assembly.take_from(message)
        assert message.items == []
    return [(call.id, call.name, call.arguments) for call in assembly.calls()]


def test_a_piece_that_is_an_empty_object_is_kept() -> None:
    assert assembled(
        {"id": "c1", "index": 0, "name": "a", "arguments": ""},
        {"index": 0, "arguments": '{"filter": '},
        {"index": 0, "arguments": "{}"},
        {"index": 0, "arguments": "}"},
    ) == [("c1", "a", '{"filter": {}}')]


def test_pieces_of_two_calls_may_alternate() -> None:
    assert assembled(
        {"id": "c1", "index": 0, "name": "a", "arguments": ""},
        {"id": "c2", "index": 1, "name": "b", "arguments": ""},
        {"index": 0, "arguments": "[1"},
        {"index": 1, "arguments": "[2"},
        {"index": 0, "arguments": "]"},
        {"index": 1, "arguments": "]"},
    ) == [("c1", "a", "[1]"), ("c2", "b", "[2]")]


@pytest.mark.parametrize("index", [0, None])
def test_whole_calls_that_all_count_as_the_first_or_not_at_all_stay_apart(
    index: int | None,
) -> None:
    assert assembled(
        {"id": "c1", "index": index, "name": "a", "arguments": "{}"},
        {"id": "c2", "index": index, "name": "a", "arguments": "{}"},
    ) == [("c1", "a", "{}"), ("c2", "a", "{}")]


def test_whole_calls_without_id_and_index_stay_apart() -> None:
    assert assembled(
        {"name": "a", "arguments": '{"x": 1}'}, {"name": "a", "arguments": '{"x": 2}'}
    ) == [("", "a", '{"x": 1}'), ("", "a", '{"x": 2}')]


def test_an_id_that_is_repeated_in_each_piece_is_one_call() -> None:
    assert assembled(
        {"id": "c1", "index": 0, "name": "a-b", "arguments": "{"},
        {"id": "c1", "index": 0, "name": "a-b", "arguments": "}"},
    ) == [("c1", "a-b", "{}")]
