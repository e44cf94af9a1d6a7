"""Memory of this process and of Claude Code, after 50 turns and after 550.

    python benchmarks/memory.py [--first 50] [--last 550] [--way turns|calls]

One session is asked again and again (``turns``), or one backend for a new conversation each time
(``calls``). The scripted Messages API runs in a process of its own and answers one word, so that
it is not the model's text that grows. Linux only. Prints what each process has allocated and what
of it and its files is in memory, and exits with 1 where either grew by more than 5 %.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holodeck_backend_claude.claude.backend import ClaudeBackend
from holodeck_backend_claude.config import Agent, Instructions, ModelConfig
from holodeck_backend_claude.registry import Registry
from holodeck_backend_claude.testing import ScriptedMessagesAPI, forever, say

BOUND = 0.05


@dataclass(frozen=True)
class Memory:
    """What one process uses, in MB.

    Attributes:
        allocated: What it has for itself and could not be read from a file again.
        resident: All of it that is in memory, files and shared parts included.
    """

    allocated: float
    resident: float

    @classmethod
    def of(cls, pid: int | str) -> Memory:
        """Read it."""
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
        pairs = (line.partition(":") for line in lines)
        megabytes = {name: int(rest.split()[0]) / 1_024 for name, _, rest in pairs}
        return cls(megabytes["Anonymous"], megabytes["Rss"])


@dataclass(frozen=True)
class Figure:
    """The growth of one process."""

    process: str
    before: Memory
    after: Memory

    @property
    def growth(self) -> float:
        """The larger of the two, in parts of what was there before."""
        return max(
            self.after.allocated / self.before.allocated - 1,
            self.after.resident / self.before.resident - 1,
        )

    def __str__(self) -> str:
        verdict = "ok" if self.growth <= BOUND else "MISSED"
        return (
            f"{self.process:12} allocated {self.before.allocated:6.1f} -> "
            f"{self.after.allocated:6.1f} MB   resident {self.before.resident:6.1f} -> "
            f"{self.after.resident:6.1f} MB   growth {self.growth:+.1%}   "
            f"bound {BOUND:.0%}: {verdict}"
        )


@asynccontextmanager
async def scripted_api() -> AsyncIterator[str]:
    """The address of a scripted API in a process of its own."""
    serve = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--serve", stdin=-1, stdout=-1
    )
    assert serve.stdin
    assert serve.stdout
    try:
        yield (await serve.stdout.readline()).decode().strip()
    finally:
        serve.stdin.close()
        await serve.wait()


async def serve_until_told() -> None:
    """The other process: prints its address, ends with its standard input."""
    async with ScriptedMessagesAPI(forever(say("Hello."))) as api:
        print(api.url, flush=True)
        keep = asyncio.create_task(forget(api))
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        keep.cancel()


async def forget(api: ScriptedMessagesAPI) -> None:
    """It notes every request for tests; here nobody asks."""
    while True:
        await asyncio.sleep(1)
        api.requests.clear()


async def measure(first: int, last: int, way: str) -> list[Figure]:
    """The figures of one way to use a backend."""
    async with scripted_api() as url:
        agent = Agent(
            name="bench",
            model=ModelConfig(
                provider="anthropic", name="claude-sonnet-4-5", endpoint=url, api_key="dummy"
            ),
            instructions=Instructions(inline="Be brief."),
        )
        backend = ClaudeBackend(agent, Registry())
        await backend.initialize()
        try:
            return await (_turns if way == "turns" else _calls)(backend, first, last)
        finally:
            await backend.teardown()


async def _turns(backend: ClaudeBackend, first: int, last: int) -> list[Figure]:
    session = await backend.create_session()

    async def readings() -> tuple[Memory, Memory]:
        gc.collect()
        ours = Memory.of("self")
        return ours, Memory.of(session.pid or 0)

    await _repeat(lambda: session.send("Hi"), first)
    ours, theirs = await readings()
    await _repeat(lambda: session.send("Hi"), last - first)
    ours_after, theirs_after = await readings()
    return [Figure("ours", ours, ours_after), Figure("Claude Code", theirs, theirs_after)]


async def _calls(backend: ClaudeBackend, first: int, last: int) -> list[Figure]:
    await _repeat(lambda: backend.invoke_once("Hi"), first)
    gc.collect()
    ours = Memory.of("self")
    await _repeat(lambda: backend.invoke_once("Hi"), last - first)
    gc.collect()
    return [Figure("ours", ours, Memory.of("self"))]


async def _repeat(call: Callable[[], Awaitable[Any]], times: int) -> None:
    for _ in range(times):
        result = await call()
        assert not result.is_error, result


def main() -> int:
    """Measure, print, and tell whether the bound holds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--first", type=int, default=50)
    parser.add_argument("--last", type=int, default=550)
    parser.add_argument("--way", choices=("turns", "calls"), default="turns")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve_until_told())
        return 0
    figures = asyncio.run(measure(options.first, options.last, options.way))
    print(f"Memory after {options.first} {options.way}, and after {options.last}:")
    for figure in figures:
        print(figure)
    return 0 if all(figure.growth <= BOUND for figure in figures) else 1


if __name__ == "__main__":
    raise SystemExit(main())
