"""``holodeck-claude`` as a process of its own, on a terminal or in a pipe."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.faults.lab import FaultLab

AGENT = """\
name: helper
model: {{provider: anthropic, name: claude-sonnet-4-5, api_key: sk-ant-dummy-key-0001{endpoint}}}
instructions: Be kind.
execution: {{llm_timeout: 20, max_retries: 0}}
tools:
  - {{type: fault, name: kb, description: A tool, at_start: {at_start}, in_a_call: {in_a_call}}}
"""

ON_ITS_TERMINAL = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from holodeck_backend_claude.cli import main
sys.exit(main(sys.argv[1:]))
"""


class Program:
    """One agent file, and the command that runs it.

    Args:
        lab: Whose folder it is.
    """

    def __init__(self, lab: FaultLab) -> None:
        self._lab = lab
        self._site = lab.folder / "site"
        self.temporary = lab.private_folders
        info = self._site / "fault_tools-1.0.dist-info"
        info.mkdir(parents=True)
        shutil.copy(Path(__file__).parent / "fault_tools.py", self._site / "fault_tools_plugin.py")
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fault-tools\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[holodeck]\nfaults = fault_tools_plugin\n")
        self.begun = lab.folder / "begun"

    def agent(
        self, *, at_start: str = "well", in_a_call: str = "well", endpoint: str | None = None
    ) -> str:
        """Write the agent file; its endpoint is a scripted API where none is given."""
        self.begun.unlink(missing_ok=True)
        reached = f", endpoint: '{endpoint}'" if endpoint else ""
        text = AGENT.format(at_start=at_start, in_a_call=in_a_call, endpoint=reached)
        path = self._lab.folder / "agent.yaml"
        path.write_text(text)
        return str(path)

    async def start(
        self, *arguments: str, before: str = "", variables: Mapping[str, str | None] | None = None
    ) -> Running:
        """Start it in a pipe.

        Args:
            arguments: Of ``holodeck-claude``.
            before: Commands of a shell that precede it.
            variables: Of the environment; None takes one away.
        """
        command = [sys.executable, "-m", "holodeck_backend_claude.cli", *arguments]
        if before:
            command = ["/bin/sh", "-c", f'{before}; exec "$@"', "sh", *command]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._environment(variables or {}),
            cwd=self._lab.folder,
        )
        return self._running(process)

    async def start_on_a_terminal(self, *arguments: str) -> Running:
        """Start it with a terminal for stdin, stdout and stderr."""
        main, side = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-c", ON_ITS_TERMINAL, *arguments],
            stdin=side,
            stdout=side,
            stderr=side,
            env=self._environment({"TERM": "xterm"}),
            cwd=self._lab.folder,
            start_new_session=True,
        )
        os.close(side)
        return self._running(process, terminal=main)

    def _running(self, process: subprocess.Popen[bytes], terminal: int | None = None) -> Running:
        running = Running(process, self.begun, terminal)
        self._lab.stack.callback(running.end)
        return running

    def _environment(self, changes: Mapping[str, str | None]) -> dict[str, str]:
        given = {"PYTHONPATH": str(self._site), "TMPDIR": str(self.temporary), **changes}
        changed = {**os.environ, **given}
        return {name: value for name, value in changed.items() if value is not None}


class Running:
    """One process of it."""

    def __init__(self, process: subprocess.Popen[bytes], begun: Path, terminal: int | None) -> None:
        self.process = process
        self.out = self.err = ""
        self._begun = begun
        self._terminal = terminal
        self._streams = self._read()

    def _read(self) -> list[asyncio.Event]:
        if self._terminal is not None:
            return [self._follow(self._terminal, "out")]
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        return [
            self._follow(self.process.stdout.fileno(), "out"),
            self._follow(self.process.stderr.fileno(), "err"),
        ]

    def _follow(self, descriptor: int, name: str) -> asyncio.Event:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def take() -> None:
            data = b""
            with contextlib.suppress(OSError):  # a terminal that nobody holds any more
                data = os.read(descriptor, 65_536)
            if data:
                setattr(self, name, getattr(self, name) + data.decode(errors="replace"))
                return
            loop.remove_reader(descriptor)
            ended.set()

        loop.add_reader(descriptor, take)
        return ended

    async def has_begun(self) -> None:
        """Wait until the tool says that it misbehaves."""
        while not self._begun.exists():
            assert self.process.poll() is None, f"it ended: {self.out}{self.err}"
            await asyncio.sleep(0.02)

    async def shows(self, text: str, *, times: int = 1) -> None:
        """Wait until it has printed this."""
        while (self.out + self.err).count(text) < times:
            assert self.process.poll() is None, f"it ended: {self.out}{self.err}"
            await asyncio.sleep(0.02)

    def type(self, text: str) -> None:
        """Write this to its stdin."""
        if self._terminal is not None:
            os.write(self._terminal, text.encode())
            return
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    async def exit_code(self) -> str:
        """Wait for its end; ``exit code 130``."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        for stream in self._streams:
            await stream.wait()
        while self.process.poll() is None:
            await asyncio.sleep(0.01)
        assert "Traceback" not in self.out + self.err, self.out + self.err
        return f"exit code {self.process.returncode}"

    def end(self) -> None:
        """Whatever happened, it is gone afterwards."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        if self._terminal is not None:
            os.close(self._terminal)
