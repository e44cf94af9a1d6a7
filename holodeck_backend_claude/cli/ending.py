"""How the process ends where the interpreter cannot end it."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from typing import NoReturn

_WITH_PROCESSES = ("tools.mcp.process", "claude.process.private_folder")


def end_process(code: int) -> None:
    """Leave at once if a call still runs in a thread; otherwise the caller exits as usual.

    When the interpreter shuts down under a thread that is inside native code, the process aborts.
    """
    threads = sys.modules.get("holodeck_backend_claude.concurrency.threads")
    if threads is None or not threads.running_threads():
        return
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or nobody reads any more
            stream.flush()
    os._exit(code)


def end_now(code: int, why: str) -> NoReturn:
    """End the process with nothing closed but Claude Code, MCP servers and private folders."""
    with suppress(OSError):
        os.write(2, f"Ended without closing the tools: {why}\n".encode())
    try:
        for name in _WITH_PROCESSES:
            if (module := sys.modules.get(f"holodeck_backend_claude.{name}")) is not None:
                module.end_all()
    finally:
        os._exit(code)
