"""Images and texts go along with a message on Semantic Kernel, too."""

from __future__ import annotations

import base64

import pytest

from holodeck_backend_claude.contract import InputFile
from holodeck_backend_claude.input_files import InputFileError
from holodeck_backend_claude.testing import forever, say
from tests.support.pictures import PDF, png

from .lab import Lab

IMAGE = InputFile("red.png", "image/png", png())
NOTES = InputFile("notes.txt", "text/plain", "Grüße".encode())


async def test_images_and_texts_are_parts_of_the_message(lab: Lab) -> None:
    api, backend = await lab.run([say("A red one.")])
    result = await backend.invoke_once("What is it?", files=[IMAGE, NOTES])
    assert result.response == "A red one."
    image, notes, question = api.requests[0].body["messages"][-1]["content"]
    url = f"data:image/png;base64,{base64.b64encode(png()).decode()}"
    assert image["type"] == "image_url"
    assert image["image_url"]["url"] == url
    assert notes == {"type": "text", "text": "<file name='notes.txt'>\nGrüße\n</file>"}
    assert question == {"type": "text", "text": "What is it?"}


async def test_a_conversation_keeps_the_files_of_earlier_turns(lab: Lab) -> None:
    api, backend = await lab.run(forever(say("ok")))
    session = await backend.create_session()
    await session.send("one", files=[IMAGE])
    assert [piece async for piece in session.send_streaming("two", files=[NOTES])] == ["ok"]
    await session.send("three")
    sent = str(api.requests[-1].body["messages"])
    assert sent.count("image_url'") >= 1
    assert sent.count("notes.txt") == 1


async def test_a_pdf_is_refused_with_what_to_do(lab: Lab) -> None:
    api, backend = await lab.run([say("ok")])
    file = InputFile("page.pdf", "application/pdf", PDF)
    with pytest.raises(InputFileError, match=r"page\.pdf is a PDF, .* run the agent on Claude"):
        await backend.invoke_once("Hi", files=[file])
    assert api.requests == []
