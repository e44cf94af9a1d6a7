"""Refusals as Claude Code words them, in our own words."""

from __future__ import annotations

import re

from holodeck_backend_claude.claude.permissions.paths import PRIVATE

PRIVATE_TEXT = f"Denied: {PRIVATE}."
"""The result of a call that Claude Code refused by its rules: ours are the only ones it has."""

# It holds a path against its rules before it asks the hook.
_BY_RULE = re.compile(r"<tool_use_error>File is .* (?:in|by) your permission settings")
# Its newer versions frame what the hook says of a command line.
_FRAME = re.compile(r"PreToolUse:\S+ hook error: (?=Denied: )")


def own_words(text: str) -> str:
    """The result of a failed call, as readers are shown it."""
    if _BY_RULE.match(text):
        return PRIVATE_TEXT
    frame = _FRAME.match(text)
    return text[frame.end() :] if frame else text
