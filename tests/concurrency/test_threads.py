"""Sync functions off the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import subprocess
import sys
import textwrap
import threading

import pytest

from holodeck_backend_claude.concurrency import blocked_threads, in_thread

user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")


async def test_the_loop_runs_on_while_the_function_blocks() -> None:
    release = threading.Event()
    waiting = asyncio.create_task(in_thread(release.wait))
    await asyncio.sleep(0)
    release.set()  # reached only because the loop was not blocked
    assert await waiting is True


async def test_arguments_and_result_are_handed_through() -> None:
    assert await in_thread(divmod, 7, 2) == (3, 1)
    assert await in_thread(sorted, [1, 3, 2], reverse=True) == [3, 2, 1]


async def test_the_function_sees_the_context_of_its_caller_and_does_not_change_it() -> None:
    def look() -> str:
        seen = user.get()
        user.set("thread")
        return seen

    user.set("caller")
    assert await in_thread(look) == "caller"
    assert user.get() == "caller"


async def test_an_exception_arrives_as_it_was_raised() -> None:
    def fail() -> None:
        raise KeyError("id")

    with pytest.raises(KeyError, match="id"):
        await in_thread(fail)


@pytest.mark.parametrize(
    "error",
    [
        SystemExit(3),
        KeyboardInterrupt(),
        GeneratorExit(),
        asyncio.CancelledError(),
        StopIteration(),
    ],
)
async def test_what_would_end_the_loop_arrives_as_an_ordinary_exception(
    error: BaseException,
) -> None:
    def leave() -> None:
        raise error

    with pytest.raises(RuntimeError, match=type(error).__name__) as caught:
        await in_thread(leave)
    assert caught.value.__cause__ is error


async def test_a_cancellation_releases_the_caller_and_counts_the_thread_until_it_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    started, release, ended = threading.Event(), threading.Event(), threading.Event()

    def block() -> None:
        started.set()
        release.wait()

    caplog.set_level(logging.INFO)
    before = blocked_threads()
    waiting = asyncio.create_task(in_thread(block))
    await in_thread(started.wait)
    thread = next(t for t in threading.enumerate() if "block" in t.name)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert blocked_threads() == before + 1
    assert "block" in caplog.text
    assert thread.daemon
    release.set()
    await in_thread(thread.join)
    ended.set()
    assert blocked_threads() == before
    assert "has ended" in caplog.text


async def test_a_function_that_ended_is_not_counted_when_its_caller_is_cancelled() -> None:
    before = blocked_threads()
    done = threading.Event()
    waiting = asyncio.create_task(in_thread(done.set))
    await asyncio.sleep(0)
    for thread in threading.enumerate():
        if "set" in thread.name:
            thread.join()  # blocks the loop, so that the outcome is not delivered yet
    assert done.is_set()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert blocked_threads() == before


def test_a_thread_that_blocks_for_ever_does_not_delay_the_end_of_the_interpreter() -> None:
    program = """
        import asyncio, threading
        from holodeck_backend_claude.concurrency import blocked_threads, in_thread

        async def main():
            call = asyncio.create_task(in_thread(threading.Event().wait))
            await asyncio.sleep(0)
            call.cancel()
            await asyncio.wait({call})
            print(blocked_threads(), "blocked")

        asyncio.run(main())
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert ended.stdout == "1 blocked\n"
    assert "Traceback" not in ended.stderr
