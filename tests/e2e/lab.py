"""The lab of the real Claude Code process, and what must be gone after each test."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from holodeck_backend_claude.claude.backend import ClaudeBackend
from holodeck_backend_claude.claude.settings import ClaudeSettings
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
    """After a test: no process of it, no private folder, no task.

    Args:
        folders: Where private folders are made.
    """
    yield
    left = children()
    assert left == [], left
    assert list(folders.iterdir()) == []
    tasks = {t for t in asyncio.all_tasks() if t is not asyncio.current_task()}
    assert [t for t in tasks if "holodeck" in (t.get_name() or "")] == []


def children() -> list[str]:
    """The command lines of this process's descendants that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == os.getpid() and fields[0] != "Z":
                found.append((stat.parent / "cmdline").read_text().replace("\0", " "))
        except (OSError, IndexError):
            continue
    return found
