"""The built-in tools of Claude Code that agent.yaml can grant, and what grants each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from holodeck_backend_claude.claude.settings.grants import Grants

Kind: TypeAlias = Literal["shell", "read", "change", "other"]


@dataclass(frozen=True)
class BuiltIn:
    """One built-in tool.

    Attributes:
        granted_by: The setting that grants it, as messages name it.
        is_granted: Whether these settings do.
        kind: What it does: run a command line, read files, change files, or something else.
    """

    granted_by: str
    is_granted: Callable[[Grants], bool]
    kind: Kind


# The names are the same in all supported versions of Claude Code.
BUILT_INS: dict[str, BuiltIn] = {
    "Bash": BuiltIn("bash.enabled: true", lambda s: s.bash.enabled, "shell"),
    "Read": BuiltIn("file_system.read: true", lambda s: s.file_system.read, "read"),
    "Glob": BuiltIn("file_system.read: true", lambda s: s.file_system.read, "read"),
    "Grep": BuiltIn("file_system.read: true", lambda s: s.file_system.read, "read"),
    "Write": BuiltIn("file_system.write: true", lambda s: s.file_system.write, "change"),
    "Edit": BuiltIn("file_system.edit: true", lambda s: s.file_system.edit, "change"),
    "WebSearch": BuiltIn("web_search: true", lambda s: s.web_search, "other"),
    "Agent": BuiltIn("agents", lambda s: bool(getattr(s, "agents", None)), "other"),
}

FILE_TOOLS = frozenset(name for name, each in BUILT_INS.items() if each.kind in ("read", "change"))
SIDE_EFFECTS = frozenset(
    name for name, each in BUILT_INS.items() if each.kind in ("shell", "change")
)


def granted(settings: Grants) -> tuple[str, ...]:
    """The built-ins that the model is offered: granted, and left by the lists of tools."""
    return tuple(
        name
        for name, built_in in BUILT_INS.items()
        if built_in.is_granted(settings)
        and (settings.allowed_tools is None or name in settings.allowed_tools)
        and name not in settings.disallowed_tools
    )
