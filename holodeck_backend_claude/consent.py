"""Whether a call may run that somebody has to agree to: the same on every backend."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from holodeck_backend_claude.contract import AskPermission, PermissionRequest

NO_SIDE_EFFECTS = "side effects are off in this run"
SAID_NO = "the user said no"

Pausing = Callable[[], AbstractContextManager[None]]
"""``with pausing(): ...`` stops the clock of the turn meanwhile."""


class TurnClock:
    """The time limit of a turn, which stands still while somebody thinks about a question.

    Attributes:
        limit: The limit that runs; None where there is none.
    """

    def __init__(self) -> None:
        self.limit: asyncio.Timeout | None = None
        self._pauses = 0
        self._left: float | None = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock meanwhile; several may do so at once."""
        clock, limit = asyncio.get_running_loop().time, self.limit
        if limit is not None and self._pauses == 0 and not limit.expired():
            end = limit.when()
            self._left = None if end is None else end - clock()
            limit.reschedule(None)
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            is_last = self._pauses == 0 and limit is self.limit
            if limit is not None and is_last and self._left is not None and not limit.expired():
                limit.reschedule(clock() + self._left)

    def run_out(self) -> None:
        """Let the limit expire now."""
        self._left = 0.0
        if self.limit is not None and not self.limit.expired():
            self.limit.reschedule(asyncio.get_running_loop().time())


class Consent:
    """Who agrees to calls, in one run of an agent.

    Args:
        ask: Asks somebody; None where nobody can be asked. It is called for one call at a time.
        side_effects: Whether calls may change anything outside of the conversation.

    Attributes:
        has_side_effects: The same.
    """

    def __init__(self, ask: AskPermission | None = None, *, side_effects: bool = True) -> None:
        self._ask = ask
        self.has_side_effects = side_effects
        self._turn = asyncio.Lock()

    @property
    def can_ask(self) -> bool:
        """Whether there is somebody to ask."""
        return self._ask is not None

    async def why_not(
        self,
        request: PermissionRequest,
        *,
        has_side_effects: bool,
        has_to_ask: bool,
        pausing: Pausing = nullcontext,
    ) -> str | None:
        """Why a call must not run, or None where it may.

        Args:
            request: The call, as whoever is asked sees it.
            has_side_effects: Whether it may change anything outside of the conversation.
            has_to_ask: Whether somebody has to agree.
            pausing: Stops the clock of the turn while somebody thinks.
        """
        if has_side_effects and not self.has_side_effects:
            return NO_SIDE_EFFECTS
        if not has_to_ask:
            return None
        if self._ask is None:
            # the model reads this: how to have it otherwise is for whoever started the run
            return f"{request.reason}, and nobody can be asked in this run"
        with pausing():
            async with self._turn:
                return None if await self._ask(request) is True else SAID_NO
