"""What was said, as attributes hold it: only where it is asked for, secrets masked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from holodeck_backend_claude.redaction import MASK, WITHHELD, is_secret_name, mask_beginning

LONGEST = 32_000
"""Characters of one text; collectors refuse requests that are too large."""


class Content:
    """Masks content for attributes, or holds it back.

    Args:
        captured: Whether content is wanted at all.
        patterns: What else is to be masked, as regular expressions.
    """

    def __init__(self, *, captured: bool, patterns: Sequence[str] = ()) -> None:
        self.captured = captured
        self._patterns = [re.compile(pattern) for pattern in patterns]

    def masked(self, text: str) -> str:
        """The text without secrets and without what the patterns match."""
        length, text = len(text), mask_beginning(text, LONGEST)
        try:
            for pattern in self._patterns:
                text = pattern.sub(MASK, text)
        except Exception:  # noqa: BLE001 - an unchecked text must not get out, whatever went wrong
            return WITHHELD
        return text if length <= LONGEST else f"{text}… ({length} characters)"

    def attribute(self, key: str, value: object) -> dict[str, str]:
        """``value`` as the attribute ``key``: text as it is, data as JSON; nothing if not asked."""
        if not self.captured:
            return {}
        if isinstance(value, str):
            return {key: self.masked(value)}
        return {key: json.dumps(self._clean(value), ensure_ascii=False, default=str)}

    def messages(
        self, key: str, role: str, parts: Iterable[Mapping[str, Any]], **more: str | None
    ) -> dict[str, str]:
        """One message in the form of the conventions; nothing if not asked."""
        said = {name: value for name, value in more.items() if value is not None}
        return self.attribute(key, [{"role": role, "parts": list(parts), **said}])

    def _clean(self, value: Any) -> Any:
        match value:
            case str():
                return self.masked(value)
            case Mapping():
                return {
                    str(key): MASK if is_secret_name(str(key)) and item else self._clean(item)
                    for key, item in value.items()
                }
            case list() | tuple():
                return [self._clean(item) for item in value]
        return value


def text_part(text: str) -> dict[str, Any]:
    """A text as a part of a message."""
    return {"type": "text", "content": text}


def call_part(call_id: str, name: str, arguments: object) -> dict[str, Any]:
    """A tool call as a part of a message."""
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}
