"""The lab of the real Claude Code process, and what must be gone after each test."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from holodeck_backend_claude.claude.backend import ClaudeBackend
from holodeck_backend_claude.claude.settings import ClaudeSettings
from holodeck_backend_claude.concurrency import threads
from holodeck_backend_claude.testing import ScriptedMessagesAPI
from tests.support import lab

MODEL = "claude-sonnet-4-5"


class Lab(lab.Lab[ScriptedMessagesAPI, ClaudeBackend]):
    """An agent on the bundled Claude Code, against a scripted Messages API on loopback."""

    api_type = ScriptedMessagesAPI
    backend_type = ClaudeBackend
    settings_key = "claude"
    settings_type = ClaudeSettings
    model = {"provider": "anthropic", "name": MODEL, "api_key": "sk-ant-dummy-key-0001"}  # noqa: RUF012
    max_retries = 1

    def endpoint(self, api: ScriptedMessagesAPI) -> str:
        return api.url


@asynccontextmanager
async def nothing_left(folders: Path) -> AsyncIterator[None]:
    """After a test: no process of it, no private folder, no task, no thread.

    A thread that a tool blocks is an exception: nobody can end it.

    Args:
        folders: Where private folders are made.
    """
    threads_before = set(threading.enumerate())
    yield
    left = children() + started_in(folders)
    assert left == [], left
    assert list(folders.iterdir()) == []
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    assert [task for task in tasks if not task.done()] == []
    await _wait_for_threads(threads_before)


async def _wait_for_threads(before: set[threading.Thread]) -> None:
    """A thread may take a moment to end; one that a tool blocks need not."""
    left: list[str] = []
    for _ in range(200):
        own = set(threading.enumerate()) - before - set(threads._blocked)
        left = [thread.name for thread in own if not thread.name.startswith(_LONG_LIVED)]
        if not left:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"threads are left: {left}")


# the workers of event loops, and the one thread that keeps tasks alive which ignore their end
_LONG_LIVED = ("asyncio_", "AnyIO worker", "holder of tasks let go")


# their database, and what Python keeps once they have started a process with multiprocessing
_OF_THE_TESTS = ("/bin/postgres -D ", "multiprocessing.resource_tracker")


def children() -> list[str]:
    """The command lines of this process's children that still run, but for the tests' servers."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == os.getpid() and fields[0] != "Z":
                found.append((stat.parent / "cmdline").read_text().replace("\0", " "))
        except (OSError, IndexError):
            continue
    return [command for command in found if not any(each in command for each in _OF_THE_TESTS)]


def started_in(folder: Path) -> list[str]:
    """The command lines of processes, whoever their parent is now, that know of this folder."""
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if os.fsencode(folder) in environ.read_bytes():
                found.append((environ.parent / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found
