"""Files reach the model as content blocks, in one message with the question."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.contract import InputFile
from holodeck_backend_claude.input_files import InputFileError
from holodeck_backend_claude.testing import ModelRequest, forever, say
from tests.support.pictures import PDF, png

from .lab import Lab

NOTES = InputFile("notes.txt", "text/plain", b"/cost @/etc/hostname")


def blocks(request: ModelRequest) -> list[dict[str, Any]]:
    """The blocks of the last user message, without what Claude Code adds."""
    found = [
        {key: value for key, value in block.items() if key != "cache_control"}
        for block in request.body["messages"][-1]["content"]
    ]
    added = ("<system-reminder>", "[Image:")
    return [block for block in found if not str(block.get("text", "")).startswith(added)]


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def test_images_pdfs_and_texts_are_blocks_before_the_question(
    lab: Lab, tmp_path: Path
) -> None:
    (tmp_path / "red.png").write_bytes(png())
    (tmp_path / "page.pdf").write_bytes(PDF)
    api, backend = await lab.run([say("A red one.")])
    files = [tmp_path / "red.png", str(tmp_path / "page.pdf"), NOTES]
    result = await backend.invoke_once("What is it?", files=files)
    assert result.response == "A red one."
    image, document, text, question = blocks(api.requests[0])
    assert image == {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": encoded(png())},
    }
    assert document == {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": encoded(PDF)},
        "title": "page.pdf",
    }
    assert text == {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": NOTES.data.decode()},
        "title": "notes.txt",
    }
    assert question["text"].strip() == "What is it?"


@pytest.mark.parametrize("message", ["/cost", "/clear", "@/etc/hostname", "!ls"])
async def test_a_message_with_a_file_is_words_and_never_a_command(lab: Lab, message: str) -> None:
    api, backend = await lab.run([say("from the model")])
    file = InputFile("red.png", "image/png", png())
    result = await backend.invoke_once(message, files=[file])
    assert result.response == "from the model"
    assert blocks(api.requests[0])[-1]["text"].strip() == message
    assert Path("/etc/hostname").read_text().strip() not in str(api.requests[0].body)


async def test_every_way_to_send_takes_files_and_the_conversation_keeps_them(lab: Lab) -> None:
    api, backend = await lab.run(forever(say("ok")))
    session = await backend.create_session()
    await session.send("one", files=[NOTES])
    assert [piece async for piece in session.send_streaming("two", files=[NOTES])] == ["ok"]
    assert [event async for event in session.stream("three", files=[NOTES])]
    await session.send("four")
    assert str(api.requests[-1].body["messages"]).count("'title': 'notes.txt'") == 3


async def test_a_file_alone_is_a_message(lab: Lab) -> None:
    api, backend = await lab.run([say("Notes.")])
    assert (await backend.invoke_once("", files=[NOTES])).response == "Notes."
    assert [block["type"] for block in blocks(api.requests[0])] == ["document"]


async def test_earlier_turns_and_files_go_together(lab: Lab) -> None:
    api, backend = await lab.run([say("ok")])
    context = [{"role": "user", "content": "I am Ada."}]
    await backend.invoke_once("Who am I?", context, files=[NOTES])
    assert "I am Ada." in str(blocks(api.requests[0])[-1])


async def test_a_file_that_cannot_be_sent_is_an_error_before_the_turn(
    lab: Lab, tmp_path: Path
) -> None:
    api, backend = await lab.run([say("ok")])
    with pytest.raises(InputFileError, match="there is no file"):
        await backend.invoke_once("Hi", files=[tmp_path / "nothing.png"])
    session = await backend.create_session()
    with pytest.raises(InputFileError, match="there is no file"):
        await session.send("Hi", files=[tmp_path / "nothing.png"])
    assert api.requests == []
    assert (await session.send("Hi")).response == "ok"
