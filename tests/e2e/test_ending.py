"""How a conversation's process ends: at once where nothing is lost, in order where it is."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from holodeck_backend_claude.claude.process import client
from holodeck_backend_claude.claude.process.private_folder import PrivateFolder
from holodeck_backend_claude.contract import BackendSessionError
from holodeck_backend_claude.testing import forever, say

from .lab import Lab, children
from .test_resumed_sessions import SQLITE


async def test_an_idle_process_that_has_nothing_left_to_do_is_not_waited_for(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "STOP_SECONDS", 1_000.0)
    _, backend = await lab.run([forever(say("ok"))])
    session = await backend.create_session()
    await session.send("Hi")
    assert session.pid
    os.kill(session.pid, signal.SIGSTOP)  # it would never end by itself
    await session.close()
    assert children() == []


async def test_a_process_that_has_something_left_to_do_ends_in_order(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "has_last_work", lambda _options, _folder: True)
    killed: list[bool] = []
    kill = PrivateFolder.kill

    def note(folder: PrivateFolder) -> None:
        killed.append(bool(children()))
        kill(folder)

    monkeypatch.setattr(PrivateFolder, "kill", note)
    _, backend = await lab.run([forever(say("ok"))])
    result = await backend.invoke_once("Hi")
    assert result.response == "ok"
    assert killed == [False]  # only what it might have left behind, when it was gone


async def test_a_session_that_was_closed_is_not_opened(lab: Lab) -> None:
    _, backend = await lab.run([forever(say("ok"))])
    session = backend._session(backend._profile)
    await session.close()
    with pytest.raises(BackendSessionError, match="closed") as error:
        await session.open()
    assert error.value.result is not None
    assert error.value.result.error_reason == "interrupted"
    assert children() == []


@pytest.mark.parametrize("steps", range(6))
async def test_a_session_that_is_closed_while_it_opens_ends_both(lab: Lab, steps: int) -> None:
    _, backend = await lab.run([forever(say("ok"))], settings=SQLITE)
    session = asyncio.create_task(backend.create_session())
    while not backend._sessions:
        await asyncio.sleep(0)
    for _ in range(steps):
        await asyncio.sleep(0)
    await asyncio.gather(*(each.close() for each in backend._sessions))
    with pytest.raises(BackendSessionError, match="closed while it started"):
        await session
    assert backend._sessions == set()
    assert children() == []
