"""Text that can be encoded: a lone surrogate would make the whole message invalid."""

from __future__ import annotations

from typing import Any


def encodable(text: str) -> str:
    """The text with the halves of a pair joined, and a half without the other replaced."""
    if text.isascii():
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return joined.encode("utf-8", "replace").decode("utf-8")


def encodable_data(data: Any) -> Any:
    """JSON data with every text in it, also the keys, made encodable."""
    if isinstance(data, str):
        return encodable(data)
    if isinstance(data, list):
        return [encodable_data(item) for item in data]
    if isinstance(data, dict):
        return {encodable_data(key): encodable_data(value) for key, value in data.items()}
    return data
