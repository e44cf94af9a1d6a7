"""What a turn and a conversation leave behind in this process: nothing."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from holodeck_backend_claude.testing import ScriptedMessagesAPI, call_tool, say
from tests.support.probes import Probe

from .lab import Lab

TIMES = 6
OURS = ("holodeck_backend_claude", "claude_agent_sdk", "mcp", "anyio", "asyncio", "tests")


def kept(api: ScriptedMessagesAPI, probe: Probe) -> Counter[str]:
    """The live objects by type, of this package and of what runs conversations for it."""
    api.requests.clear()
    api.side_requests.clear()
    probe.calls.clear()
    gc.collect()
    kinds = (type(thing) for thing in gc.get_objects())
    named = (f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)
    return Counter(name for name in named if name.partition(".")[0].lstrip("_") in OURS)


async def growth(lab: Lab, begin: Callable[[Any], Awaitable[Callable[[], Awaitable[Any]]]]) -> Any:
    """What there is one more of for each of `TIMES` further times; each time calls a tool.

    Less than one a time is what happens to be under way when it is counted (an await, a callback).
    """
    probe = Probe("kb")
    api = await lab.api([call_tool("kb", {"query": "x"}), say("ok")] * (3 + TIMES))
    backend = await lab.backend(api, probe)
    once = await begin(backend)
    for _ in range(3):
        await once()
    before = kept(api, probe)
    for _ in range(TIMES):
        await once()
    await asyncio.sleep(0)
    more = kept(api, probe) - before
    return {name: count for name, count in more.items() if count >= TIMES}


async def test_a_session_keeps_nothing_of_its_earlier_turns(lab: Lab) -> None:
    async def begin(backend: Any) -> Callable[[], Awaitable[Any]]:
        session = await backend.create_session()
        return lambda: session.send("Hi")

    assert await growth(lab, begin) == {}


async def test_a_backend_keeps_nothing_of_its_earlier_conversations(lab: Lab) -> None:
    async def begin(backend: Any) -> Callable[[], Awaitable[Any]]:
        return lambda: backend.invoke_once("Hi")

    assert await growth(lab, begin) == {}
