"""Whatever a tool returned, as content the model can read."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from pydantic import BaseModel
from pydantic_core import to_json, to_jsonable_python

from holodeck_backend_claude.contract import (
    ContentBlock,
    ImageContent,
    ResourceContent,
    TextContent,
    ToolResult,
)
from holodeck_backend_claude.encodable import encodable

_BLOCKS = (TextContent, ImageContent, ResourceContent)
_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_LARGEST_IMAGE = 5_000_000
_NOTHING = "The tool finished and returned nothing."
_EMPTY = "The tool finished and returned an empty text."


def to_result(value: object) -> ToolResult:
    """Make a valid result of any return value.

    Text is text; bytes are an image where they are one; content blocks, ours or MCP's as dicts,
    stay blocks; any other value is shown as JSON. Nothing at all is said in words, because an
    empty result reads like a failure.
    """
    if isinstance(value, ToolResult):
        return _checked(value)
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", by_alias=True)
    if _is_mcp_result(value):
        return _from_mcp(value)
    blocks = _as_blocks(value)
    if blocks is not None:
        return ToolResult(content=blocks)
    if isinstance(value, Iterator | AsyncIterator):
        return ToolResult.from_text(
            f"The tool returned a {type(value).__name__}, which holds no content yet; it has to "
            "return text, a dict, a list or a ToolResult",
            is_error=True,
        )
    return ToolResult(content=(TextContent(_as_text(value)),), structured=_structured(value))


def _checked(result: ToolResult) -> ToolResult:
    content: Any = result.content
    if isinstance(content, str | bytes) or not isinstance(content, Sequence):
        content = () if content is None else (content,)
    blocks = tuple(block for item in content for block in _blocks_of(item))
    structured = _structured(result.structured)
    if not blocks:
        text = _NOTHING if structured is None else _as_text(structured)
        blocks = (TextContent(text),)
    return ToolResult(content=blocks, structured=structured, is_error=bool(result.is_error))


def _as_blocks(value: object) -> tuple[ContentBlock, ...] | None:
    """The blocks that the value consists of, or None if it is no content but data."""
    if isinstance(value, _BLOCKS):
        return _blocks_of(value)
    if isinstance(value, list | tuple) and value:
        if all(isinstance(item, _BLOCKS) for item in value) or _is_mcp_content(value):
            return tuple(block for item in value for block in _blocks_of(item))
        return None
    if isinstance(value, bytes | bytearray | memoryview):
        return (_bytes_block(bytes(value)),)
    return None


def _blocks_of(item: object) -> tuple[ContentBlock, ...]:
    match item:
        case TextContent(text=text):
            return (TextContent(_clean(text)),)
        case ResourceContent(uri=uri, text=text, mime_type=mime_type):
            return (ResourceContent(_clean(uri), _clean(text), _clean(mime_type)),)
        case ImageContent(data=data, mime_type=mime_type):
            return (_image_block(data, mime_type),)
        case Mapping() if _is_mcp_block(item):
            return (_mcp_block(item),)
    blocks = _as_blocks(item)
    return blocks if blocks is not None else (TextContent(_as_text(item)),)


def _image_block(data: object, mime_type: object) -> ContentBlock:
    """The image, or a note where sending it would make the whole request invalid."""
    if not isinstance(data, bytes | bytearray | memoryview) or not len(data):
        return TextContent(f"[{mime_type}: the tool gave no image data]")
    if mime_type not in _IMAGE_TYPES:
        return TextContent(f"[{mime_type}, {len(data)} bytes: no kind of image a model can see]")
    if len(data) > _LARGEST_IMAGE:
        return TextContent(f"[{mime_type}, {len(data)} bytes: larger than 5 MB, left out]")
    return ImageContent(bytes(data), str(mime_type))


_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)


def _bytes_block(data: bytes) -> ContentBlock:
    for signature, mime_type in _SIGNATURES:
        if data.startswith(signature):
            return _image_block(data, mime_type)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _image_block(data, "image/webp")
    try:
        return TextContent(data.decode("utf-8") or _EMPTY)
    except UnicodeDecodeError:
        return TextContent(f"[binary data, {len(data)} bytes]")


# --------------------------------------------------------------------------- MCP content as dicts


def _is_mcp_block(item: object) -> bool:
    return isinstance(item, Mapping) and (
        (item.get("type") == "text" and "text" in item)
        or (item.get("type") in {"image", "audio"} and "data" in item)
        or (item.get("type") == "resource" and isinstance(item.get("resource"), Mapping))
        or (item.get("type") == "resource_link" and "uri" in item)
    )


def _is_mcp_result(value: object) -> TypeGuard[Mapping[Any, Any]]:
    if not isinstance(value, Mapping) or "content" not in value:
        return False
    says_so = value["content"] == [] and value.keys() & {"is_error", "isError"}
    return bool(says_so) or _is_mcp_content(value["content"])


def _is_mcp_content(content: object) -> bool:
    return isinstance(content, list | tuple) and bool(content) and all(map(_is_mcp_block, content))


def _from_mcp(result: Mapping[Any, Any]) -> ToolResult:
    structured = result.get("structuredContent", result.get("structured"))
    # `isError` is MCP's spelling; a handler that returns the other one means the same
    is_error = bool(result.get("is_error") or result.get("isError"))
    blocks = tuple(_mcp_block(block) for block in result["content"])
    return _checked(ToolResult(blocks, structured, is_error))


def _mcp_block(block: Mapping[Any, Any]) -> ContentBlock:
    kind = block["type"]
    if kind == "text":
        return TextContent(_clean(block["text"]))
    mime_type = block.get("mimeType") or block.get("mime_type") or "application/octet-stream"
    if kind == "image":
        return _image_block(_decoded(block["data"]), mime_type)
    if kind == "resource" and "text" in (resource := block["resource"]):
        mime_type = resource.get("mimeType") or "text/plain"
        uri, text = resource.get("uri", ""), resource["text"]
        return ResourceContent(_clean(uri), _clean(text), _clean(mime_type))
    uri = block.get("uri") or block.get("resource", {}).get("uri", "")
    return TextContent(f"[{_clean(f'{kind} {uri}').strip()} ({_clean(mime_type)})]")


def _decoded(data: object) -> bytes:
    if isinstance(data, bytes):
        return data
    try:
        return base64.b64decode(str(data), validate=True)
    except ValueError:
        return b""


# ------------------------------------------------------------------------------------ plain values


def _as_text(value: object) -> str:
    if value is None:
        return _NOTHING
    if isinstance(value, str):
        return _clean(value) or _EMPTY
    try:
        shown = to_json(
            value, indent=2, fallback=str, inf_nan_mode="constants", bytes_mode="base64"
        )
        text: str = json.loads(shown) if shown.startswith(b'"') else shown.decode()
        return _clean(text) or _EMPTY
    except Exception:  # noqa: BLE001 - the value's own code runs here and may raise anything
        return _represented(value)


def _represented(value: object) -> str:
    try:
        return _clean(repr(value))
    except Exception:  # noqa: BLE001 - see above
        return f"[a {type(value).__name__} that cannot be shown]"


def _structured(value: object) -> Any | None:
    """The value as JSON data, where it has structure; None where the text says it all."""
    if value is None or isinstance(value, str | bytes | int | float):
        return None
    try:
        data = to_jsonable_python(value, fallback=str, inf_nan_mode="strings", bytes_mode="base64")
        json.dumps(data, allow_nan=False).encode("utf-8")
    except Exception:  # noqa: BLE001 - see above
        return None
    return data if isinstance(data, dict | list) else None


def _clean(text: object) -> str:
    return encodable(str(text))
