"""Giving up a start of Claude Code that comes to nothing."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeSDKClient

    from holodeck_backend_claude.claude.process.private_folder import PrivateFolder

_LOOK_EVERY = 0.1
_GONE_SECONDS = 1.0
_END_SECONDS = 5.0


class Start:
    """One start; it ends when the process answers, has died, or took too long.

    Args:
        folder: The private folder of the process.
        seconds: How long it may take to answer.

    Attributes:
        problem: Why the start was given up, if it was.
    """

    def __init__(self, folder: PrivateFolder, *, seconds: float) -> None:
        self._folder = folder
        self._seconds = seconds
        self.problem: str | None = None

    async def connect(self, sdk: ClaudeSDKClient) -> None:
        """Connect, in the task that calls this.

        Raises:
            Exception: What the SDK raises, or TimeoutError; ``problem`` says more where it is set.
        """
        limit = asyncio.timeout(None)
        watch = asyncio.create_task(self._watch(limit))
        try:
            async with limit:
                await sdk.connect()
        finally:
            watch.cancel()

    async def _watch(self, limit: asyncio.Timeout) -> None:
        """End a start in order: by the end of its process where that is enough.

        The SDK does not notice a process that ends with the exit code 0 before it answered.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + self._seconds
        gone_since: float | None = None
        while (now := loop.time()) < until:
            gone_since = (gone_since or now) if self._is_gone() else None
            if gone_since is not None and now - gone_since >= _GONE_SECONDS:
                self.problem = "it ended without an answer"
                limit.reschedule(now)
                return
            await asyncio.sleep(_LOOK_EVERY)
        self.problem = f"no answer within {self._seconds:g} s"
        limit.reschedule(until + _END_SECONDS)
        while True:  # more than once: SDK 0.2.82 may run the program twice, first for its version
            self._folder.kill()
            await asyncio.sleep(_LOOK_EVERY)

    def _is_gone(self) -> bool:
        pid = self._folder.pid()
        if pid is None:
            return False
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return False
