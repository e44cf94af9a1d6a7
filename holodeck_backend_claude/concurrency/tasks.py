"""Ending a task in bounded time: cancel it, wait a little, and let go of one that goes on."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

log = logging.getLogger(__name__)

GRACE_SECONDS = 1.0
"""How long a cancelled task may take to clean up before it is let go."""

_let_go: set[asyncio.Task[Any]] = set()
_keepers: list[threading.Thread] = []


async def end_task(task: asyncio.Task[Any], *, label: str, grace: float = GRACE_SECONDS) -> None:
    """Cancel a task and wait until it has ended, or let it go after ``grace`` seconds.

    A cancellation of the caller that arrives meanwhile is raised when the wait is over.

    Args:
        task: The task to end; it may have ended already.
        label: What the log calls it, e.g. ``tool 'kb'``.
        grace: Seconds it may take to clean up.
    """
    task.cancel()
    await wait_out(task, seconds=grace)
    if not task.done():
        let_go(task, label=label)


async def wait_out(task: asyncio.Task[Any], *, seconds: float) -> None:
    """Wait for a task, at most ``seconds``; being cancelled does not cut the wait short.

    A cancel scope of anyio cancels its tasks again and again until they leave it, so giving
    in to the first repetition would leave the task behind in the middle of its cleanup.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    cancelled: asyncio.CancelledError | None = None
    while not task.done() and (left := until - loop.time()) > 0:
        try:
            await asyncio.wait({task}, timeout=left)
        except asyncio.CancelledError as again:
            cancelled = again
    if cancelled is not None:
        if not task.done():
            let_go(task, label=task.get_name())
        raise cancelled


def let_go(task: asyncio.Task[Any], *, label: str) -> None:
    """Stop waiting for a task that ignores its cancellation, here and when the loop closes.

    ``asyncio.run`` cancels every task it knows and then waits for all of them without limit,
    so one such task would keep the program from ending.
    """
    keep(task)
    if _hide_from_loop(task):
        log.warning("%s ignores its cancellation; nothing waits for it any longer", label)
    else:
        log.warning(
            "%s ignores its cancellation; only the event loop waits for it when it closes", label
        )


def _hide_from_loop(task: asyncio.Task[Any]) -> bool:
    """Take a task out of ``asyncio.all_tasks()``, which the loop cancels and waits for.

    The function is documented for other implementations of tasks ("Extending asyncio"), but a
    Python or a loop may do without it.
    """
    unregister = getattr(asyncio, "_unregister_task", None)
    if unregister is None:
        return False
    unregister(task)
    return True


def keep(task: asyncio.Task[Any]) -> None:
    """Hold a task until it is done, beyond the end of the interpreter; it may never be.

    When a pending coroutine is destroyed, GeneratorExit is thrown into it; one that swallows
    this too would spin forever, and one that awaits something on its way out, where no event
    loop runs any longer, is a traceback. What the stack of a daemon thread refers to is never
    destroyed.
    """
    _let_go.add(task)
    task.add_done_callback(_let_go.discard)
    if not _keepers:
        keeper = threading.Thread(
            target=_hold, args=(_let_go,), name="holder of tasks let go", daemon=True
        )
        _keepers.append(keeper)
        keeper.start()


def _hold(_tasks: set[asyncio.Task[Any]]) -> None:
    threading.Event().wait()
