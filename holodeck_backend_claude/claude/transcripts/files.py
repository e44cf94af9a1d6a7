"""Transcripts as Claude Code has them on disk: written for it to resume, read after a crash."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from claude_agent_sdk import SessionStoreEntry

Transcripts: TypeAlias = "Mapping[str, Sequence[SessionStoreEntry]]"
"""The entries of a conversation under ``""``, and those of its subagents by their subpath."""

_PROJECTS = "projects"
_SPOKEN = ("user", "assistant")


def write_transcripts(
    config: Path, working_directory: Path, session_id: str, transcripts: Transcripts
) -> None:
    """Put a conversation where Claude Code looks for one that it is to resume.

    Args:
        config: The configuration folder of the process.
        working_directory: Where the process will run.
        session_id: The id it is resumed by.
        transcripts: What was said in it.
    """
    from claude_agent_sdk import project_key_for_directory

    project = config / _PROJECTS / project_key_for_directory(working_directory)
    for subpath, entries in transcripts.items():
        path = project / f"{session_id}.jsonl"
        if subpath:
            path = (project / session_id / subpath).with_suffix(".jsonl")
            if ".." in Path(subpath).parts or not path.is_relative_to(project / session_id):
                continue  # no name that Claude Code gives
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(path, entries)


def _write(path: Path, entries: Sequence[Mapping[str, Any]]) -> None:
    about = [entry for entry in entries if entry.get("type") == "agent_metadata"]
    lines = [json.dumps(entry) for entry in entries if entry.get("type") != "agent_metadata"]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if about:  # of a subagent; Claude Code keeps it beside the transcript
        known = {key: value for key, value in about[-1].items() if key != "type"}
        path.with_suffix(".meta.json").write_text(json.dumps(known), encoding="utf-8")


def read_after_crash(config: Path, session_id: str) -> list[SessionStoreEntry]:
    """The entries of a conversation whose process was killed, its file made good for another.

    What the process was writing when it ended is a broken last line, which is cut off. A file in
    which nobody spoke yet is removed: Claude Code does not resume it.

    Returns:
        The entries; empty where there is nothing to resume.
    """
    path = next((config / _PROJECTS).glob(f"*/{session_id}.jsonl"), None)
    if path is None:
        return []
    whole = path.read_bytes()
    end = whole.rfind(b"\n") + 1
    entries = list(_parsed(whole[:end]))
    if not any(entry["type"] in _SPOKEN for entry in entries):
        path.unlink()
        return []
    if end < len(whole):
        path.write_bytes(whole[:end])
    return entries


def _parsed(text: bytes) -> Iterator[SessionStoreEntry]:
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and isinstance(entry.get("type"), str):
            yield entry  # type: ignore[misc]  # opaque but for its type
