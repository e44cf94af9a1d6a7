"""What the Claude backend costs beside the SDK alone, with the same options in the same run.

    python benchmarks/turns.py [--calls 20] [--json] [--only raw,cold,warm,turns]

Everything runs against a scripted Messages API on loopback, so what is measured is the process,
the SDK and this package. Each round makes one call of each kind, by turns, so that whatever else
the machine does meets all of them; a second series has one second between the calls.

* raw: the SDK's own ``query()``, with the options the backend uses but its launcher, in a private
  folder of the same kind, made beforehand.
* cold: ``invoke_once``, which makes its folder, starts the process, and ends and removes both.
* warm: ``invoke_once`` with a process that was connected before. Back to back, the next call is
  made when the next process is connected.
* in a row: warm calls without waiting for anything, so that the start of the next process is part
  of each call but the first.
* turn: the second and later turns of a session, beside those of the SDK's client.

Prints medians in milliseconds, their ratio to the SDK's own, and the bound that the project holds
itself to; the exit code is 1 where a bound is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import functools
import json
import os
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, query

from holodeck_backend_claude.claude.backend import ClaudeBackend
from holodeck_backend_claude.claude.process import client
from holodeck_backend_claude.claude.process.private_folder import PrivateFolder
from holodeck_backend_claude.config import Agent, Instructions, ModelConfig
from holodeck_backend_claude.registry import Registry
from holodeck_backend_claude.testing import ScriptedMessagesAPI, forever, say

COLD_BOUND = 1.05
WARM_BOUND = 0.5
TURN_BOUND = 1.05
PAIRS = 8
PROMPT = "Be brief."

Call = Callable[[], Awaitable[object]]


@dataclass(frozen=True)
class Figure:
    """One line of the result.

    Attributes:
        name: What was measured.
        median_ms: Ours.
        raw_ms: The SDK's own, measured by turns with it.
        bound: What the ratio may be at most; None where it is only told.
        calls: How many of each.
    """

    name: str
    median_ms: float
    raw_ms: float
    bound: float | None
    calls: int

    @property
    def ratio(self) -> float:
        """Ours in parts of the SDK's own."""
        return self.median_ms / self.raw_ms

    @property
    def holds(self) -> bool:
        """Whether the bound is kept."""
        return self.bound is None or self.ratio <= self.bound

    def __str__(self) -> str:
        told = f"{self.name:44} {self.median_ms:8.1f} ms   SDK alone {self.raw_ms:8.1f} ms"
        verdict = "" if self.bound is None else f"   bound {self.bound:.2f}: {self._verdict}"
        return f"{told}   ratio {self.ratio:.2f}{verdict}"

    @property
    def _verdict(self) -> str:
        return "ok" if self.holds else "MISSED"

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {**dataclasses.asdict(self), "ratio": self.ratio, "holds": self.holds}


class RawSDK:
    """The SDK alone, with the options that the backend gave it in this run."""

    def __init__(self) -> None:
        self._options: ClaudeAgentOptions | None = None
        self._build: Callable[..., ClaudeAgentOptions] = vars(client)["build_options"]
        vars(client)["build_options"] = self._note

    def _note(self, *args: Any, **kwargs: Any) -> ClaudeAgentOptions:
        options = self._build(*args, **kwargs)
        self._options = self._options or options
        return options

    def options(self, folder: PrivateFolder) -> ClaudeAgentOptions:
        """The backend's options in another private folder, but for the launcher."""
        assert self._options
        folder.write_system_prompt(PROMPT)
        before, after = self._options.env["HOME"], str(folder.path)
        prompt: Any = self._options.system_prompt
        moved: Any = {**prompt, "path": prompt["path"].replace(before, after)}
        return dataclasses.replace(
            self._options,
            cli_path=None,
            session_id=str(uuid4()),
            cwd=folder.working_directory,
            env={name: text.replace(before, after) for name, text in self._options.env.items()},
            system_prompt=moved,
        )

    async def query(self) -> float:
        """Milliseconds of one ``query()``."""
        folder = PrivateFolder()
        options = self.options(folder)

        async def call() -> None:
            async for _message in query(prompt="Hi", options=options):
                pass

        try:
            return await timed(call)
        finally:
            folder.remove()


async def timed(call: Call) -> float:
    """Milliseconds one call takes."""
    begun = time.perf_counter()
    await call()
    return (time.perf_counter() - begun) * 1_000


@asynccontextmanager
async def backend(agent: Agent, warm: int = 0) -> AsyncIterator[ClaudeBackend]:
    """The agent's backend with so many processes connected ahead."""
    made = ClaudeBackend(agent, Registry().with_warm_clients(warm))
    await made.initialize()
    await made.warm.wait_filled()
    try:
        yield made
    finally:
        await made.teardown()


async def by_turns(agent: Agent, raw: RawSDK, calls: int, pause: float) -> list[Figure]:
    """Rounds of one call of each kind; raw and cold go first by turns."""
    taken: dict[str, list[float]] = {"raw": [], "cold": [], "warm": []}
    async with backend(agent) as cold, backend(agent, warm=1) as warm:
        ways: dict[str, Callable[[], Awaitable[float]]] = {
            "raw": raw.query,
            "cold": lambda: timed(lambda: cold.invoke_once("Hi")),
            "warm": lambda: timed(lambda: warm.invoke_once("Hi")),
        }
        for number in range(calls):
            for kind in ("cold", "raw", "warm") if number % 2 else ("raw", "cold", "warm"):
                taken[kind].append(await ways[kind]())
                await asyncio.sleep(pause)
            if not pause:
                await warm.warm.wait_filled()
    raw_ms, cold_ms, warm_ms = (statistics.median(column) for column in taken.values())
    how = f"{pause:g} s between calls" if pause else "back to back"
    return [
        Figure(f"invoke_once, {how}", cold_ms, raw_ms, COLD_BOUND, calls),
        Figure(f"invoke_once with a warm client, {how}", warm_ms, raw_ms, WARM_BOUND, calls),
    ]


async def in_a_row(agent: Agent, raw: RawSDK, calls: int) -> list[Figure]:
    """Calls without a pause, in blocks of five, so that both kinds meet the same weather."""
    taken: dict[str, list[float]] = {"raw": [], "warm": []}
    async with backend(agent, warm=1) as warm:
        await warm.invoke_once("Hi")
        for _ in range(-(-calls // 5)):
            await warm.warm.wait_filled()
            taken["raw"] += [await raw.query() for _ in range(5)]
            taken["warm"] += [await timed(lambda: warm.invoke_once("Hi")) for _ in range(5)]
    raw_ms, warm_ms = (statistics.fmean(column) for column in taken.values())
    return [Figure("the same in a row, means", warm_ms, raw_ms, None, len(taken["raw"]))]


async def later_turns(agent: Agent, raw: RawSDK, calls: int) -> list[Figure]:
    """The second and later turns of sessions, and of as many of the SDK's clients.

    Of several, because two processes with the same options differ by some percent.
    """
    taken: dict[str, list[float]] = {"session": [], "client": []}
    async with backend(agent) as ours:
        for _ in range(PAIRS):
            folder = PrivateFolder()
            session = await ours.create_session()
            async with ClaudeSDKClient(raw.options(folder)) as theirs:
                ways: dict[str, Call] = {
                    "session": functools.partial(session.send, "Hi"),
                    "client": functools.partial(raw_turn, theirs),
                }
                for number in range(calls + 1):
                    for kind in ("session", "client") if number % 2 else ("client", "session"):
                        milliseconds = await timed(ways[kind])
                        if number:
                            taken[kind].append(milliseconds)
            await session.close()
            folder.remove()
    ours_ms, raw_ms = (statistics.median(column) for column in taken.values())
    return [Figure("a later turn of a session", ours_ms, raw_ms, TURN_BOUND, PAIRS * calls)]


async def raw_turn(sdk: ClaudeSDKClient) -> None:
    """A turn of the SDK's client."""
    await sdk.query("Hi")
    async for _message in sdk.receive_response():
        pass


async def measure(calls: int, show: Callable[[Figure], object]) -> list[Figure]:
    """All figures, each shown as soon as it is there."""
    raw = RawSDK()
    figures: list[Figure] = []
    async with ScriptedMessagesAPI(forever(say("Hello."))) as api:
        agent = Agent(
            name="bench",
            model=ModelConfig(
                provider="anthropic", name="claude-sonnet-4-5", endpoint=api.url, api_key="dummy"
            ),
            instructions=Instructions(inline=PROMPT),
        )
        async with backend(agent) as first:
            await first.invoke_once("Hi")
        await raw.query()
        for series in (
            by_turns(agent, raw, calls, pause=0.0),
            by_turns(agent, raw, calls, pause=1.0),
            in_a_row(agent, raw, calls),
            later_turns(agent, raw, calls),
        ):
            for figure in await series:
                figures.append(figure)
                show(figure)
    return figures


def main() -> int:
    """Measure, print, and tell whether the bounds hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=20, help="of each kind (20)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    if options.json:
        figures = asyncio.run(measure(options.calls, lambda _figure: None))
        print(json.dumps([figure.to_dict() for figure in figures], indent=2))
    else:
        print(f"Medians of {options.calls} calls of each kind, {os.cpu_count()} cores:")
        figures = asyncio.run(measure(options.calls, lambda figure: print(figure, flush=True)))
    return 0 if all(figure.holds for figure in figures) else 1


if __name__ == "__main__":
    raise SystemExit(main())
