"""Names on the wire: legal, short enough with their prefix, and mapped back to the tools."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from holodeck_backend_claude.contract import BackendInitError

if TYPE_CHECKING:
    from holodeck_backend_claude.calls.bound import BoundTool

_HASH_LENGTH = 8
_SHORTEST_ROOM = _HASH_LENGTH + 2


def _own_name(tool: BoundTool) -> str:
    return tool.name


def wire_names(
    tools: Sequence[BoundTool],
    prefix: str,
    limit: int = 64,
    *,
    name_of: Callable[[BoundTool], str] = _own_name,
) -> dict[str, BoundTool]:
    """Give every tool the name it has on the wire, without the prefix.

    The same tools give the same names at every start. ``prefix + name`` has at most ``limit``
    characters and consists of ``[a-zA-Z0-9_-]``.

    Args:
        tools: In the order in which the model is to see them; the dict keeps it.
        prefix: What the backend puts before each name, e.g. ``mcp__holodeck_tools__``.
        limit: The most characters of prefix and name together.
        name_of: What a tool's name on the wire is made of.

    Returns:
        ``{name: tool}``, which also maps back what the model called.

    Raises:
        BackendInitError: Two tools come to the same name, or the prefix leaves no room for one.
    """
    room = limit - len(prefix)
    if room < _SHORTEST_ROOM:
        raise BackendInitError(
            f"the prefix {prefix!r} leaves {max(room, 0)} of {limit} characters for the names of "
            "tools; give the server a shorter name"
        )
    named: dict[str, BoundTool] = {}
    for tool in tools:
        name = legal_name(name_of(tool), room)
        if name in named:
            raise BackendInitError(_clash(name, named[name], tool))
        named[name] = tool
    return named


def legal_name(text: str, room: int = 64) -> str:
    """The text in ``[a-zA-Z0-9_-]``, at most ``room`` characters, the same each time.

    Accents are dropped and other characters become ``_``. A short hash of the text is added
    where letters of another script were lost, or the end was cut off.
    """
    plain = unicodedata.normalize("NFKD", text)
    plain = "".join(char for char in plain if not unicodedata.combining(char))
    legal = re.sub(r"[^a-zA-Z0-9_-]", "_", plain)
    if plain.isascii() and legal and len(legal) <= room:
        return legal
    return _hashed(legal if plain.isascii() else re.sub(r"_+", "_", legal), text, room)


def folder_name(text: str, room: int = 64) -> str:
    """The text as a folder name, another one for each text also where case does not count."""
    legal = legal_name(text, room)
    return legal if legal == text == text.lower() else _hashed(legal, text, room)


def _hashed(legal: str, text: str, room: int) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_HASH_LENGTH]
    return f"{legal[: room - _HASH_LENGTH - 1]}_{digest}".lstrip("_")


def _clash(name: str, first: BoundTool, second: BoundTool) -> str:
    if first.name == second.name:
        offered = f"both offer the model a tool called '{first.name}'"
    else:
        offered = (
            f"would both be called '{name}' by the model (from '{first.name}' and '{second.name}')"
        )
    return f"{first.origin} and {second.origin} {offered}; rename one of them in agent.yaml"
