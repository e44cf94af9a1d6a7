"""A message with files, as the content blocks of the Messages API."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Sequence
from typing import Any

from holodeck_backend_claude.claude._compat import literal_prompt
from holodeck_backend_claude.contract import InputFile


async def as_prompt(message: str, files: Sequence[InputFile]) -> AsyncIterator[dict[str, Any]]:
    """The one user message that ``ClaudeSDKClient.query`` is given in place of a text.

    Files come first: models answer better about what they have seen before the question.
    """
    content = [_block(file) for file in files]
    if message.strip():
        content.append({"type": "text", "text": literal_prompt(message)})
    yield {
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": None,
    }


def _block(file: InputFile) -> dict[str, Any]:
    if file.media_type.startswith("image/"):
        return {"type": "image", "source": _base64(file)}
    if file.media_type == "application/pdf":
        return {"type": "document", "source": _base64(file), "title": file.name}
    text = {"type": "text", "media_type": "text/plain", "data": file.data.decode()}
    return {"type": "document", "source": text, "title": file.name}


def _base64(file: InputFile) -> dict[str, str]:
    encoded = base64.b64encode(file.data).decode("ascii")
    return {"type": "base64", "media_type": file.media_type, "data": encoded}
