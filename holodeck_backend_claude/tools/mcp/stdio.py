"""The transport ``stdio``: a server as a process of ours, one message per line."""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from holodeck_backend_claude.tools.mcp.errors import ServerLostError
from holodeck_backend_claude.tools.mcp.process import ServerProcess, start_process
from holodeck_backend_claude.tools.mcp.streams import (
    LONGEST_MESSAGE,
    Ends,
    Streams,
    as_json,
    pumped,
)
from holodeck_backend_claude.tools.mcp.tail import Tail

if TYPE_CHECKING:
    from holodeck_backend_claude.config import MCPTool

_LAST_WORDS_SECONDS = 0.5
_REST_SECONDS = 0.1
"""How long what a server wrote last may take to come through the pipes once it has ended."""


@asynccontextmanager
async def stdio_streams(
    config: MCPTool, *, env: Mapping[str, str], cwd: Path, tail: Tail
) -> AsyncIterator[Streams]:
    """The streams to a new process of the server; it is gone with all it started afterwards.

    Args:
        config: The server.
        env: All its variables.
        cwd: Where it runs.
        tail: Gets what it writes to its standard error.

    Raises:
        ServerLostError: It did not start, or it ended.
    """
    process = await _started(config, env, cwd)
    encoding = config.encoding or "utf-8"
    errors = asyncio.create_task(_read_stderr(process, tail), name="stderr of an MCP server")
    watch = asyncio.create_task(_end_with_it(process), name="end of an MCP server")
    at_end = asyncio.Event()
    encode = codecs.getincrementalencoder(encoding)().encode  # one byte order mark, not many

    async def read(ends: Ends) -> None:
        async for written in _lines(process, encoding):
            line = written.strip().removeprefix("\ufeff")  # some put a mark before each line
            if line and not await ends.deliver(line):
                tail.add(f"(on stdout) {line}")
        at_end.set()

    async def write(ends: Ends) -> None:
        async for message in ends.to_send:
            ends.note(message)
            await process.write(encode(as_json(message) + "\n"))

    try:
        async with pumped(read, write) as streams:
            yield streams
        if at_end.is_set() and await process.wait(_LAST_WORDS_SECONDS):
            raise ServerLostError(_ended(process), server=config.name)
    finally:
        try:
            await process.end()
        finally:
            watch.cancel()
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORDS_SECONDS):
                    await errors
            errors.cancel()


async def _started(config: MCPTool, env: Mapping[str, str], cwd: Path) -> ServerProcess:
    command = config.command or ""
    try:
        return await start_process([command, *config.args], env=env, cwd=cwd)
    except FileNotFoundError:
        if not os.path.isdir(cwd):  # noqa: PTH112, ASYNC240 - one look, at an error
            problem = f"there is no folder {cwd}, in which it was to run"
        else:
            problem = (
                f"there is no program {command!r} on its PATH; install it, or correct 'command'"
            )
    except PermissionError:
        problem = f"{command!r} is not executable"
    except (OSError, ValueError) as cause:
        problem = f"{command!r} did not start: {cause}"
    raise ServerLostError(problem, server=config.name)


def _ended(process: ServerProcess) -> str:
    code = process.exit_code or 0
    return (
        f"its process was ended by signal {-code}"
        if code < 0
        else f"its process ended with exit code {code}"
    )


async def _end_with_it(process: ServerProcess) -> None:
    """End what a server left running when it ended: it would hold the pipes open."""
    await process.wait()
    await asyncio.sleep(_REST_SECONDS)
    process.kill()


async def _read_stderr(process: ServerProcess, tail: Tail) -> None:
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    while piece := await process.read_stderr():
        tail.feed(decode(piece))


async def _lines(process: ServerProcess, encoding: str) -> AsyncIterator[str]:
    decode = codecs.getincrementaldecoder(encoding)("replace").decode
    begun: list[str] = []
    length = 0
    while piece := await process.read():
        *ended, rest = decode(piece).split("\n")
        for end in ended:
            yield "".join((*begun, end))
            begun, length = [], 0
        begun.append(rest)
        length += len(rest)
        if length > LONGEST_MESSAGE:
            raise ServerLostError(f"it sent a line of over {LONGEST_MESSAGE} characters", server="")
