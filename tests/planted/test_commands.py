"""What the commands print, with ``-v`` and on both streams, holds no secret, come what may."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from holodeck_backend_claude.testing import call_tool, fail, forever, say
from tests.e2e.lab import Lab

from .agents import mcp_server, written_agent
from .plants import Plants
from .refusing import Refusing, refusing


@dataclass(frozen=True)
class Case:
    """One command, what the agent file says beside the rest, and words that show it came so far.

    Attributes:
        command: The command; the agent file follows it.
        shows: What is on stdout or stderr.
        code: The exit code.
        question: What follows the agent file.
        typed: What is written to its stdin.
        server: What the MCP server does, see ``mcp_raw_server.py``.
        refuses: The status with which the API quotes every secret; 0 where it answers.
        store: Whether the conversations are to be stored, in a database that is not there.
    """

    command: str
    shows: str
    code: int
    question: tuple[str, ...] = ()
    typed: str = ""
    server: dict[str, Any] | None = None
    refuses: int = 0
    store: bool = False


CASES = {
    "validate": Case("validate", "is valid", 0),
    "run": Case("run", "do not reach", 0, ("Hi",)),
    "run --json": Case("run", "no access with", 1, ("Hi", "--json"), refuses=400),
    "chat": Case("chat", "failed: desk", 2, typed="Hi\n", server={"exit": 3}),
    "sessions list": Case("sessions", "session store", 2, ("list",), store=True),
}


class Commands:
    """Agent files with a secret in each place, and the commands that run them."""

    def __init__(self, lab: Lab, gateway: Refusing) -> None:
        self._lab, self._gateway = lab, gateway

    async def run(self, name: str) -> tuple[Plants, int, str]:
        """Run a case; returns its secrets, its exit code and what it printed."""
        case, plants = CASES[name], Plants()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "holodeck_backend_claude.cli", "-v", case.command,
            str(await self._agent(name, case, plants)), *case.question,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "SOME_TOKEN": plants["a variable"]},
        )  # fmt: skip
        out, _ = await process.communicate(case.typed.encode())
        return plants, process.returncode or 0, out.decode()

    async def _agent(self, name: str, case: Case, plants: Plants) -> Path:
        folder = self._lab.folder / name
        folder.mkdir()
        (folder / ".env").write_text(f"OTHER_TOKEN={plants['.env']}\n")

        def refuse(_request: Any) -> Any:
            return fail(case.refuses, f"no access with {plants.quoted()}")

        last = forever(refuse if case.refuses else say("ok"))
        api = await self._lab.api([call_tool("mcp__desk__fail", {}), last])
        agent = written_agent(plants, api.url, self._gateway.url)
        server = mcp_server(plants, folder, "desk", **(case.server or {}))
        agent["tools"] = [
            {
                "type": "mcp",
                "name": "desk",
                "description": "A server.",
                "command": server.command,
                "args": list(server.args),
                "env": {name: value.get_secret_value() for name, value in server.env.items()},
                "config": server.config,
                "env_file": server.env_file,
            }
        ]
        if case.store:
            url = plants.into("postgresql://127.0.0.1:9/none", "store: password")
            agent["claude"]["sessions"] = {"store": "postgres", "url": url}
        path = folder / "agent.yaml"
        path.write_text(yaml.safe_dump(agent))
        return path


async def test_no_command_prints_a_secret(lab: Lab) -> None:
    async with refusing() as gateway:
        printed = await asyncio.gather(*map(Commands(lab, gateway).run, CASES))
    for name, (plants, code, text) in zip(CASES, printed, strict=True):
        assert CASES[name].shows in text, (name, text)
        assert code == CASES[name].code, (name, text)
        assert plants.found_in(text) == set(), (name, text)
