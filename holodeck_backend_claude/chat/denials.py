"""The calls of a turn that were denied, as lines for a reader."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from holodeck_backend_claude.chat.printable import without_controls
from holodeck_backend_claude.redaction import mask_secrets

_LONGEST = 80
_AT_MOST = 5
_SAYS_IT = ("command", "file_path", "pattern")  # the argument that says what a call was about


def denial_lines(denials: Iterable[Mapping[str, Any]]) -> list[str]:
    """One line for each reason, with the calls that it was the reason of.

    Args:
        denials: ``permission_denials`` of a result.
    """
    calls: dict[str, list[str]] = {}
    for denial in denials:
        reason = _one_line(str(denial.get("reason") or "not granted"))
        calls.setdefault(reason, []).append(_call(denial))
    return [f"denied: {_some(each)}: {reason}" for reason, each in calls.items()]


def _some(calls: list[str]) -> str:
    more = f" and {len(calls) - _AT_MOST} more" if len(calls) > _AT_MOST else ""
    return ", ".join(calls[:_AT_MOST]) + more


def _call(denial: Mapping[str, Any]) -> str:
    arguments = denial.get("arguments")
    if not isinstance(arguments, Mapping):
        arguments = {}
    told = next((arguments[key] for key in _SAYS_IT if key in arguments), None)
    if not isinstance(told, str):
        told = ", ".join(
            f"{key}={json.dumps(value, ensure_ascii=False, default=str)}"
            for key, value in arguments.items()
        )
    told = _one_line(told)
    if len(told) > _LONGEST:  # of a path its end says which file it is
        is_path = told == arguments.get("file_path")
        told = f"…{told[1 - _LONGEST :]}" if is_path else f"{told[: _LONGEST - 1]}…"
    return f"{_one_line(str(denial.get('name')))}({told})"


def _one_line(text: str) -> str:
    return " ".join(without_controls(mask_secrets(text)).split())
