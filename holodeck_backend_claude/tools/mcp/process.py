"""The process of a stdio server, in a group of its own: none of it outlives its end.

What it starts in another group is found, on Linux, while the server itself runs.
"""

from __future__ import annotations

import asyncio
import os
import signal
import weakref
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from holodeck_backend_claude.processes import descendants

EXIT_SECONDS = 2.0
"""How long a server may take to end by itself once nothing more is sent to it."""

TERM_SECONDS = 1.0
"""How long it may take to end after SIGTERM."""

_CHUNK = 64 * 1024
_running: weakref.WeakSet[ServerProcess] = weakref.WeakSet()


class _Protocol(SubprocessStreamProtocol):
    """Tells of the end of a process at once.

    ``Process.wait()`` of some Pythons also waits for the end of the pipes, which a grandchild may
    hold open.
    """

    def __init__(self) -> None:
        super().__init__(limit=_CHUNK, loop=asyncio.get_running_loop())
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


class ServerProcess:
    """A started process; see :func:`start_process`."""

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: _Protocol) -> None:
        self._transport = transport
        self._exited = protocol.exited
        self._process = Process(transport, protocol, asyncio.get_running_loop())
        self.pid: int = self._process.pid
        # at exit, if not before
        self._kill_once = weakref.finalize(self, _kill_group, self.pid, os.getpid())
        _running.add(self)

    @property
    def exit_code(self) -> int | None:
        """What it ended with; negative for a signal, None while it runs."""
        return self._process.returncode

    async def read(self) -> bytes:
        """The next piece of its standard output; empty at the end."""
        return await self._process.stdout.read(_CHUNK) if self._process.stdout else b""

    async def read_stderr(self) -> bytes:
        """The next piece of its standard error; empty at the end."""
        return await self._process.stderr.read(_CHUNK) if self._process.stderr else b""

    async def write(self, data: bytes) -> None:
        """Write to its standard input.

        Raises:
            OSError: It does not read any more.
        """
        if self._process.stdin is None or self._process.stdin.is_closing():
            raise BrokenPipeError("the standard input of the process is closed")
        self._process.stdin.write(data)
        await self._process.stdin.drain()

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end of the process, at most ``seconds``; whether it has ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._exited.wait()
        return self._exited.is_set()

    async def end(self) -> None:
        """End it and everything it started, in at most a few seconds.

        First its input is closed, at which a server ends by itself, then comes SIGTERM. SIGKILL
        comes in any case, for the group: what the server left running is in it, but for what it
        started in a group of its own.
        """
        started = descendants(self.pid, child_of=os.getpid())
        try:
            if self._process.stdin is not None:
                self._process.stdin.close()
            if not await self.wait(EXIT_SECONDS):
                _signal_group(self.pid, signal.SIGTERM)
                await self.wait(TERM_SECONDS)
            self.kill()
            await self.wait(TERM_SECONDS)  # so that it is no zombie
        finally:
            self.kill()
            for each in started:
                each.kill()
            # A process that left the group may hold the pipes open.
            self._transport.close()

    def kill(self) -> None:
        """End the whole group at once; nothing happens if it is gone."""
        self._kill_once()


async def start_process(
    command: Sequence[str], *, env: Mapping[str, str], cwd: Path
) -> ServerProcess:
    """Start a server.

    Args:
        command: The program, looked up on the PATH of ``env``, and its arguments.
        env: All its variables.
        cwd: Where it runs.

    Raises:
        OSError: It cannot be started.
    """
    transport, protocol = await asyncio.get_running_loop().subprocess_exec(
        _Protocol,
        *command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=dict(env),
        cwd=cwd,
        start_new_session=True,
    )
    return ServerProcess(transport, protocol)


def end_all() -> None:
    """Kill every server and what it started, where nothing will be closed in order."""
    for process in list(_running):
        process.kill()


def _kill_group(pid: int, owner: int) -> None:
    if os.getpid() == owner:  # a forked child that ends is not the end of its parent's servers
        started = descendants(pid, child_of=owner)
        _signal_group(pid, signal.SIGKILL)
        for each in started:
            each.kill()


def _signal_group(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
