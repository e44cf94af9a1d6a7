"""What the backend adds to a turn: beside the SDK alone with the same options, in the same run.

    python benchmarks/turns.py [--calls 15]

Prints medians in milliseconds and the ratio to the SDK's own. Everything runs against a scripted
Messages API on loopback, so what is measured is the process, the SDK and this package.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from claude_agent_sdk import ClaudeSDKClient, query

from holodeck_backend_claude.claude.backend import ClaudeBackend
from holodeck_backend_claude.claude.options import Launch, build_options
from holodeck_backend_claude.claude.process.environment import child_environment
from holodeck_backend_claude.config import Agent, Instructions, ModelConfig
from holodeck_backend_claude.registry import Registry
from holodeck_backend_claude.testing import ScriptedMessagesAPI, forever, say

Call = Callable[[], Awaitable[object]]


async def timed(call: Call) -> float:
    """Milliseconds one call takes."""
    begun = time.perf_counter()
    await call()
    return (time.perf_counter() - begun) * 1_000


async def compare(label: str, ours: Call, raw: Call, calls: int) -> None:
    """Time both in turns, so that whatever else the machine does meets both."""
    await ours()
    await raw()
    pairs = [(await timed(ours), await timed(raw)) for _ in range(calls)]
    mine, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(f"{label:32} {mine:8.1f} ms   SDK alone {theirs:8.1f} ms   ratio {mine / theirs:.2f}")


async def main(calls: int) -> None:
    """Print the figures."""
    async with ScriptedMessagesAPI(forever(say("Hello."))) as api:
        agent = Agent(
            name="bench",
            model=ModelConfig(
                provider="anthropic", name="claude-sonnet-4-5", endpoint=api.url, api_key="dummy"
            ),
            instructions=Instructions(inline="Be brief."),
        )
        folder = Path(tempfile.mkdtemp(prefix="bench-"))
        for name in ("tmp", "config", "work"):
            (folder / name).mkdir()
        environment = child_environment(agent, agent.environment(), folder)
        options = build_options(
            agent, launch=Launch(env=environment, working_directory=folder / "work")
        )

        async def raw_query() -> None:
            async for _ in query(prompt="Hi", options=options):
                pass

        backend = ClaudeBackend(agent, Registry())
        await backend.initialize()
        session = await backend.create_session()
        async with ClaudeSDKClient(options) as client:

            async def raw_turn() -> None:
                await client.query("Hi")
                async for _ in client.receive_response():
                    pass

            await compare("invoke_once", lambda: backend.invoke_once("Hi"), raw_query, calls)
            await compare("a later turn of a session", lambda: session.send("Hi"), raw_turn, calls)
        await backend.teardown()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=15)
    asyncio.run(main(parser.parse_args().calls))
