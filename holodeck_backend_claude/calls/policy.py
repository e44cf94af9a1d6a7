"""One call of a tool: in a task of its own, within its time, and ending nothing but itself."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from holodeck_backend_claude.calls.refusals import CallRefusedError
from holodeck_backend_claude.calls.slots import Slots
from holodeck_backend_claude.concurrency.loop_watch import watched_loop
from holodeck_backend_claude.concurrency.tasks import end_task
from holodeck_backend_claude.concurrency.threads import Work, current_work
from holodeck_backend_claude.contract import (
    DEFAULT_CALL_SECONDS,
    DEFAULT_CALLS_AT_ONCE,
    DEFAULT_RESULT_CHARS,
)


@dataclass(frozen=True)
class CallPolicy:
    """The limits of a tool's calls.

    Attributes:
        timeout: Seconds one call may take, waiting for its turn not counted.
        max_result_chars: The most characters of a result that reach the model.
        concurrency: How many calls run at once.
        ends_run: Whether a failed call ends the agent's turn.
    """

    timeout: float = DEFAULT_CALL_SECONDS
    max_result_chars: int = DEFAULT_RESULT_CHARS
    concurrency: int = DEFAULT_CALLS_AT_ONCE
    ends_run: bool = False

    @classmethod
    def of(cls, config: object) -> CallPolicy:
        """The policy a tool's config asks for; what it does not say, or not in numbers, is default.

        Configs of another HoloDeck installation have none of these settings.
        """
        timeout = _number(config, "timeout", DEFAULT_CALL_SECONDS)
        return cls(
            timeout=_number(config, "call_seconds", timeout),
            max_result_chars=int(_number(config, "max_result_chars", DEFAULT_RESULT_CHARS, 1)),
            concurrency=int(_number(config, "concurrency", DEFAULT_CALLS_AT_ONCE, 1)),
            ends_run=getattr(config, "on_error", None) == "fail",
        )


def _number(config: object, name: str, default: float, least: float = 1e-9) -> float:
    value = getattr(config, name, None)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    return value if math.isfinite(value) and value >= least else default


@dataclass(frozen=True)
class Returned:
    """A call that came to its end, and what it returned."""

    value: Any


@dataclass(frozen=True)
class Raised:
    """A call that failed, and with what."""

    error: BaseException


Outcome: TypeAlias = Returned | Raised


async def run_call(
    work: Callable[[], Awaitable[Any]], *, label: str, seconds: float, slots: Slots
) -> Outcome:
    """Run the work of one call and say how it ended; only a cancellation from outside is raised.

    The work runs in a task of its own: what it raises, even CancelledError or SystemExit, is an
    outcome and reaches neither the caller's task nor the event loop.

    Args:
        work: What to do; called in the new task.
        label: The tool as messages name it, e.g. ``tool 'kb'``.
        seconds: How long until the work is cancelled.
        slots: Where the call takes its turn.
    """
    try:
        slot = await slots.take()
    except CallRefusedError as refusal:
        return Raised(refusal)
    leavings = Work(label)
    task = asyncio.create_task(_contained(work, leavings), name=label)
    task.add_done_callback(lambda _: slot.free_after(leavings.leftovers))
    in_time = True
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if not done:
            in_time = False
            await end_task(task, label=label)
    except asyncio.CancelledError:
        await end_task(task, label=label)
        raise
    finally:
        if not task.done():
            slot.mark_stuck()
    if not in_time:
        return Raised(CallRefusedError(f"{label} did not finish within its limit of {seconds:g} s"))
    if task.cancelled():  # the tool cancelled the task it ran in, and did not wait for it
        return Raised(asyncio.CancelledError("the tool cancelled itself"))
    return task.result()


async def _contained(work: Callable[[], Awaitable[Any]], leavings: Work) -> Outcome:
    current_work.set(leavings)
    try:
        with watched_loop(leavings.label):
            return Returned(await work())
    # asyncio lets SystemExit and KeyboardInterrupt of a task end the whole loop, and a
    # CancelledError of a tool would pass for a cancellation of the caller.
    except BaseException as error:  # noqa: BLE001
        return Raised(error)
