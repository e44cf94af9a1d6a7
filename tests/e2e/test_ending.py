"""How a conversation's process ends: at once where nothing is lost, in order where it is."""

from __future__ import annotations

import os
import signal

import pytest

from holodeck_backend_claude.claude.process import client
from holodeck_backend_claude.claude.process.private_folder import PrivateFolder
from holodeck_backend_claude.testing import forever, say

from .lab import Lab, children


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
