"""What a tool returned, as content for the model."""

from __future__ import annotations

import datetime
import enum
import uuid
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from holodeck_backend_claude.calls.capping import cap_result
from holodeck_backend_claude.calls.content import to_result
from holodeck_backend_claude.contract import (
    ContentBlock,
    ImageContent,
    ResourceContent,
    TextContent,
    ToolResult,
)

PNG = b"\x89PNG\r\n\x1a\n0000"


@dataclass
class Hit:
    id: int
    when: datetime.date


class Model(BaseModel):
    name: str


class Colour(enum.Enum):
    RED = "red"


Pair = namedtuple("Pair", "a b")


class Hostile:
    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class TestPlainValues:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ("text", "text"),
            (5, "5"),
            (2.5, "2.5"),
            (True, "true"),
            (float("nan"), "NaN"),
            (Colour.RED, "red"),
            (datetime.date(2024, 5, 1), "2024-05-01"),
            (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
            (Path("/a/b"), "/a/b"),
            (b"bytes", "bytes"),
            (b"\xff\x00", "[binary data, 2 bytes]"),
            ([1, "zwei"], '[\n  1,\n  "zwei"\n]'),
            (complex(1, 2), "1+2j"),
        ],
    )
    def test_are_text(self, value: object, text: str) -> None:
        result = to_result(value)
        assert result.text == text
        assert not result.is_error

    def test_nothing_is_said_in_words(self) -> None:
        assert to_result(None).text == "The tool finished and returned nothing."
        assert to_result("").text == "The tool finished and returned an empty text."
        assert to_result(ToolResult()).text == "The tool finished and returned nothing."

    @pytest.mark.parametrize(
        ("value", "data"),
        [
            ({"a": [1, None]}, {"a": [1, None]}),
            (Hit(1, datetime.date(2024, 5, 1)), {"id": 1, "when": "2024-05-01"}),
            (Model(name="x"), {"name": "x"}),
            (Pair(1, 2), [1, 2]),
            ({1: Colour.RED}, {"1": "red"}),
            ([], []),
        ],
    )
    def test_with_structure_are_json_and_structured(self, value: object, data: object) -> None:
        result = to_result(value)
        assert result.structured == data
        assert result.text

    def test_a_value_that_cannot_be_shown_is_named(self) -> None:
        assert to_result(Hostile()).text == "[a Hostile that cannot be shown]"

    def test_a_value_that_contains_itself_is_shown(self) -> None:
        value: list[Any] = [1]
        value.append(value)
        result = to_result(value)
        assert result.text == "[1, [...]]"
        assert result.structured is None

    def test_text_that_cannot_be_encoded_is_made_encodable(self) -> None:
        assert to_result("a\ud800b").text.encode() == b"a?b"
        assert to_result({"k\ud800": "v"}).text.encode()

    def test_a_generator_is_an_error_that_says_what_to_return(self) -> None:
        result = to_result(n for n in range(3))
        assert result.is_error
        assert "generator" in result.text
        assert "return" in result.text

    def test_an_async_generator_is_an_error_too(self) -> None:
        async def stream() -> Any:
            yield 1

        assert to_result(stream()).is_error


class TestBlocks:
    def test_blocks_stay_alone_and_in_lists(self) -> None:
        text, resource = TextContent("a"), ResourceContent("file:///a", "b")
        assert to_result(text).content == (text,)
        assert to_result([text, resource]).content == (text, resource)

    def test_bytes_of_an_image_are_an_image(self) -> None:
        assert to_result(PNG).content == (ImageContent(PNG, "image/png"),)
        assert to_result(b"RIFF0000WEBP").content == (ImageContent(b"RIFF0000WEBP", "image/webp"),)

    @pytest.mark.parametrize(
        "image",
        [
            ImageContent(b"<svg/>", "image/svg+xml"),
            ImageContent(b"", "image/png"),
            ImageContent("text", "image/png"),  # type: ignore[arg-type]
            ImageContent(bytes(5_000_001), "image/png"),
        ],
    )
    def test_an_image_that_the_api_refuses_is_told_in_words(self, image: ImageContent) -> None:
        (block,) = to_result(image).content
        assert isinstance(block, TextContent)
        assert image.mime_type in block.text

    @pytest.mark.parametrize("content", ["text", TextContent("text"), ["text"], ("text",)])
    def test_content_of_a_result_may_be_given_loosely(self, content: Any) -> None:
        result = to_result(ToolResult(content=content, is_error=True))
        assert result == ToolResult(content=(TextContent("text"),), is_error=True)

    def test_text_that_is_no_string_is_made_one(self) -> None:
        assert to_result(TextContent(5)).content == (TextContent("5"),)  # type: ignore[arg-type]

    def test_structured_data_alone_is_shown_as_text(self) -> None:
        result = to_result(ToolResult(structured={"a": 1}))
        assert result.text == '{\n  "a": 1\n}'
        assert result.structured == {"a": 1}


class TestMcpDicts:
    def test_content_and_error_flag_are_read_in_both_spellings(self) -> None:
        content = [{"type": "text", "text": "no"}]
        for flag in ("isError", "is_error"):
            assert to_result({"content": content, flag: True}) == ToolResult(
                content=(TextContent("no"),), is_error=True
            )

    def test_every_kind_of_block_is_taken(self) -> None:
        result = to_result(
            {
                "content": [
                    {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
                    {"type": "resource", "resource": {"uri": "file:///a", "text": "b"}},
                    {"type": "resource_link", "uri": "file:///c", "mimeType": "text/css"},
                    {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
                    {"type": "image", "data": "not base64!", "mimeType": "image/png"},
                ]
            }
        )
        assert result.content == (
            ImageContent(b"\x89PNG\r\n\x1a\n", "image/png"),
            ResourceContent("file:///a", "b"),
            TextContent("[resource_link file:///c (text/css)]"),
            TextContent("[audio (audio/wav)]"),
            TextContent("[image/png: the tool gave no image data]"),
        )

    def test_an_empty_content_says_so(self) -> None:
        result = to_result({"content": [], "isError": False})
        assert result.text == "The tool finished and returned nothing."

    def test_structured_content_is_kept(self) -> None:
        content = [{"type": "text", "text": "1"}]
        result = to_result({"content": content, "structuredContent": {"n": 1}})
        assert result.structured == {"n": 1}

    def test_a_dict_that_only_has_a_key_content_is_data(self) -> None:
        assert to_result({"content": "hello"}).structured == {"content": "hello"}
        assert to_result({"content": []}).structured == {"content": []}


class TestCap:
    def test_a_result_within_the_limit_is_the_same(self) -> None:
        result = to_result("x" * 100)
        assert cap_result(result, 100) is result

    def test_a_longer_one_is_cut_to_the_limit_and_says_how_much_is_missing(self) -> None:
        capped = cap_result(to_result("x" * 1_000), 200)
        assert len(capped.text) <= 200
        kept = capped.text.count("x")
        assert capped.text.endswith(f"[cut here: {1_000 - kept} of 1000 characters left out]")

    def test_blocks_are_counted_together_and_those_after_the_cut_are_left_out(self) -> None:
        image = ImageContent(PNG, "image/png")
        blocks: list[ContentBlock] = [
            TextContent("a" * 100),
            image,
            ResourceContent("u", "b" * 100),
            TextContent("c"),
        ]
        capped = cap_result(ToolResult(content=blocks), 170)
        assert capped.content[:2] == (blocks[0], image)
        last = capped.content[-1]
        assert isinstance(last, ResourceContent)
        assert last.text.startswith("b")
        assert "of 201 characters left out]" in last.text
        assert len(capped.content) == 3

    def test_structured_data_above_the_limit_is_left_out_not_cut(self) -> None:
        capped = cap_result(to_result({"k": "x" * 1_000}), 200)
        assert capped.structured is None
        assert "left out" in capped.text

    def test_an_error_stays_an_error(self) -> None:
        assert cap_result(ToolResult.from_text("x" * 500, is_error=True), 200).is_error
