"""The process of a server and the programs that know of it."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import asyncio, atexit, os
from pathlib import Path
from holodeck_backend_claude.tools.mcp.process import end_all, start_process

async def main():
    server = await start_process(["/bin/cat"], env={}, cwd=Path("/"))
    if os.fork() == 0:
        end_all()
        atexit._run_exitfuncs()
        os._exit(0)
    os.wait()
    await server.write(b"still here")
    print((await server.read()).decode())
    await server.end()

asyncio.run(main())
"""


def test_a_forked_child_that_ends_leaves_its_parents_server_alone() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], check=True, stdout=-1, text=True)
    assert ended.stdout == "still here\n"
