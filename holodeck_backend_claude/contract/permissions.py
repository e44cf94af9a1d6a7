"""Asking somebody whether a tool call may run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class PermissionRequest:
    """A tool call that somebody has to agree to.

    Attributes:
        name: The tool, as results call it.
        arguments: What the model gave it.
        reason: Why it is asked, e.g. ``it runs a command line``.
    """

    name: str
    arguments: Mapping[str, Any]
    reason: str


AskPermission: TypeAlias = Callable[[PermissionRequest], Awaitable[bool]]
"""``await ask_permission(request)``: True lets the call run. It is asked for one call at a time."""
