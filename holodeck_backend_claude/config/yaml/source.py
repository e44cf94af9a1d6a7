"""An agent file as it stands on disk: its values, the place of each, and what is malformed."""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from holodeck_backend_claude.config.problems import AgentFileError, Findings, Mark
from holodeck_backend_claude.config.yaml.nodes import Node, type_name
from holodeck_backend_claude.config.yaml.parser import UnreadableError, parse

AGENT_FILE = "agent.yaml"
MAX_BYTES = 10_000_000

# What YAML does not allow in a text, plus the byte order mark anywhere but at the start.
_UNPRINTABLE = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


@dataclass(frozen=True)
class Source:
    """A file that could be read as YAML.

    Attributes:
        path: The file.
        root: Its values; always a mapping.
        findings: What is malformed so far; whoever reads on adds to it.
    """

    path: Path
    root: Node
    findings: Findings

    @cached_property
    def base_dir(self) -> Path:
        """The folder of the file, absolute: relative paths in the file start here."""
        return self.path.parent.resolve()


def agent_path(path: str | Path) -> Path:
    """The agent file that ``path`` names: itself, or the agent.yaml in that folder."""
    given = Path(path)
    try:
        return given / AGENT_FILE if given.is_dir() else given
    except OSError:  # a folder above it is not ours to enter: reading the file will say so
        return given


def read_source(path: str | Path) -> Source:
    """Read an agent file, or the agent.yaml of a folder.

    Raises:
        AgentFileError: There is no such file, or it is not a YAML mapping.
    """
    file = agent_path(path)
    findings = Findings(str(file))
    try:
        root = _mapping(parse(_text(file), findings))
    except UnreadableError as cause:
        findings.error(cause.mark, (), cause.message, hint=cause.hint)
        raise AgentFileError(findings.errors) from None
    return Source(file, root, findings)


def _mapping(root: Node | None) -> Node:
    if root is None or root.value is None:
        raise UnreadableError(None, "the file is empty", "an agent file begins with 'name:'")
    if not isinstance(root.value, dict):
        raise UnreadableError(
            root.mark,
            f"an agent file is a mapping of keys, not {type_name(root.value)}",
            "it begins with keys such as 'name:' and 'model:' in the first column",
        )
    return root


def _text(file: Path) -> str:
    return _decoded(_bytes(file))


def _bytes(file: Path) -> bytes:
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise UnreadableError(None, "this is not a regular file")
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise UnreadableError(None, "there is no such file", _missing_hint(file)) from None
    except (OSError, ValueError) as cause:  # ValueError: a NUL byte in the path itself
        raise UnreadableError(None, f"the file cannot be read: {_reason(cause)}") from None
    if len(data) > MAX_BYTES:
        raise UnreadableError(
            None,
            f"the file is larger than {MAX_BYTES // 1_000_000} MB",
            "documents and long texts belong in files of their own, which the agent file names",
        )
    return data


def _missing_hint(file: Path) -> str:
    if file.name == AGENT_FILE:
        return f"name the agent file, or the folder that holds its {AGENT_FILE}"
    return "check the path; it starts from the folder you are in"


def _reason(cause: Exception) -> str:
    return (cause.strerror if isinstance(cause, OSError) else None) or str(cause)


def _decoded(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        good = data[: cause.start].decode("utf-8", errors="replace")
        raise UnreadableError(
            _end_of(good),
            f"the file is not UTF-8 text (byte 0x{data[cause.start]:02x})",
            "save it as UTF-8",
        ) from None
    found = _UNPRINTABLE.search(text)
    if found:
        raise UnreadableError(
            _end_of(text[: found.start()]),
            f"the character U+{ord(found.group()):04X} is not allowed in YAML",
            "remove it, or write it as an escape in double quotes",
        )
    return text


def _end_of(text: str) -> Mark:
    line_start = text.rfind("\n") + 1
    return Mark(text.count("\n") + 1, len(text) - line_start + 1)
