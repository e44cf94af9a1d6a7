"""The processes below this one: their command lines and variables, and the files of a run."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """A process as anybody of the same user can read it."""

    pid: int
    parent: int
    command: str
    environment: str


def below(root: int) -> list[Process]:
    """Every process that descends from this one."""
    everything = {process.pid: process for process in _all()}
    return [each for each in everything.values() if root in _ancestors(each, everything)]


def _ancestors(process: Process, everything: dict[int, Process]) -> Iterator[int]:
    while process.parent in everything:
        yield process.parent
        process = everything[process.parent]


def _all() -> Iterator[Process]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            command, environment = (
                (folder / name).read_bytes().decode(errors="replace").replace("\0", "\n")
                for name in ("cmdline", "environ")
            )
        except (OSError, IndexError):
            continue
        yield Process(int(folder.name), int(fields[1]), command, environment)


def readable_by_others(folder: Path) -> list[str]:
    """The files below a folder that another user could read."""
    found = []
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if _mode(path, name) & stat.S_IXOTH]
        found += [f"{path}/{name}" for name in files if _mode(path, name) & stat.S_IROTH]
    return found


def _mode(path: str, name: str) -> int:
    return (Path(path) / name).lstat().st_mode
