"""Transcripts as Claude Code has them on disk: written for it to resume, read after a crash."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from claude_agent_sdk import SessionStoreEntry

Transcripts: TypeAlias = "Mapping[str, Sequence[SessionStoreEntry]]"
"""The entries of a conversation under ``""``, and those of its subagents by their subpath."""

_PROJECTS = "projects"
_ABOUT = "agent_metadata"  # the type of the entry that says what a subagent is
_SPOKEN = ("user", "assistant")
_BLOCK = 65_536  # bytes that are read at once from the end of a file


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
    about = [entry for entry in entries if entry.get("type") == _ABOUT]
    lines = [json.dumps(entry) for entry in entries if entry.get("type") != _ABOUT]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if about:  # of a subagent; Claude Code keeps it beside the transcript
        known = {key: value for key, value in about[-1].items() if key != "type"}
        path.with_suffix(".meta.json").write_text(json.dumps(known), encoding="utf-8")


def read_transcripts(config: Path, session_id: str) -> dict[str, list[SessionStoreEntry]]:
    """What Claude Code has on disk of a conversation; nothing where it has none.

    Args:
        config: The configuration folder of its process.
        session_id: Its id.
    """
    path = _path_of(config, session_id)
    if path is None:
        return {}
    found = {"": list(entries_of(path))}
    folder = path.with_suffix("")
    for each in sorted(folder.rglob("*.jsonl")):
        found[each.relative_to(folder).with_suffix("").as_posix()] = [
            *entries_of(each),
            *_about(each),
        ]
    return found


def _about(subagent: Path) -> Iterator[SessionStoreEntry]:
    path = subagent.with_suffix(".meta.json")
    with contextlib.suppress(OSError, ValueError, TypeError):
        yield json.loads(path.read_text(encoding="utf-8")) | {"type": _ABOUT}


def _path_of(config: Path, session_id: str) -> Path | None:
    return next((config / _PROJECTS).glob(f"*/{session_id}.jsonl"), None)


def mended_after_crash(config: Path, session_id: str) -> Path | None:
    """The transcript of a conversation whose process was killed, made good for another.

    What the process was writing when it ended is a broken last line, which is cut off. A file in
    which nobody spoke yet is removed: Claude Code does not resume it. However long the file is,
    only what is looked for is read.

    Returns:
        The file; None where there is nothing to resume.
    """
    path = _path_of(config, session_id)
    if path is None:
        return None
    _cut_broken_line(path)
    if not any(entry["type"] in _SPOKEN for entry in entries_of(path)):
        path.unlink()
        return None
    return path


def entries_of(path: Path) -> Iterator[SessionStoreEntry]:
    """The entries of a transcript, one after the other."""
    with path.open("rb") as lines:
        for line in lines:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict) and isinstance(entry.get("type"), str):
                yield entry  # type: ignore[misc]  # opaque but for its type


def _cut_broken_line(path: Path) -> None:
    with path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - _BLOCK)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                end = start + found + 1
                break
            end = start
        file.truncate(end)
