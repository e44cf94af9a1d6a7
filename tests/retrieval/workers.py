"""Processes that index the lab, what they say, and whether they left a sound index."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .lab import Lab

WORKER = Path(__file__).with_name("worker.py")
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(lab: Lab) -> Iterator[Start]:
    """``start(calls, kind)``: a process that indexes the lab; it is ended with the test."""
    started: list[subprocess.Popen[str]] = []

    def run(calls: int = 1_000, kind: str = "plain") -> subprocess.Popen[str]:
        command = [sys.executable, str(WORKER), str(lab.base), str(calls), kind]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


def wait_for(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdout is not None
    for told in process.stdout:
        if told.startswith(line):
            return
    raise AssertionError(f"the process ended without saying {line!r}")


def let_go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()


def assert_sound(lab: Lab) -> None:
    assert lab.rows("PRAGMA integrity_check") == [("ok",)]
    with lab.database.writing() as db:
        db.execute("INSERT INTO keywords (keywords) VALUES ('integrity-check')")
    assert lab.rows("SELECT rowid FROM keywords ORDER BY 1") == lab.rows(
        "SELECT id FROM chunks ORDER BY 1"
    )
