"""Whoever chats is shown a call and says whether it may run."""

from __future__ import annotations

import io
import os
import pty
import select
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from holodeck_backend_claude.chat import Interrupts, LiveSession, PermissionPrompt
from holodeck_backend_claude.contract import ExecutionResult, PermissionRequest, TurnEnd, TurnEvent
from holodeck_backend_claude.redaction import remember_secrets
from holodeck_backend_claude.sessions import StreamedSession

BASH = PermissionRequest("Bash", {"command": "ls -l\nrm x"}, "it runs a command line")


class Asker:
    """A prompt whose answers are typed before."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
        self.notes = io.StringIO()
        self._patch = monkeypatch
        self._patch.setattr(sys, "stdin", io.StringIO(typed))

    def __call__(self, *requests: PermissionRequest) -> list[bool]:
        with Interrupts(lambda: None) as interrupts:
            prompt = PermissionPrompt(interrupts, self.notes, lambda: None)
            return [prompt(request) for request in requests]


@pytest.mark.parametrize(
    ("typed", "allowed"),
    [
        ("y\n", True),
        ("YES\n", True),
        ("n\n", False),
        ("\n", False),
        ("", False),
        ("what\ny\n", True),
    ],
)
def test_yes_lets_it_run_and_everything_else_does_not(
    monkeypatch: pytest.MonkeyPatch, typed: str, allowed: bool
) -> None:
    assert Asker(monkeypatch, typed)(BASH) == [allowed]


def test_the_tool_its_arguments_and_the_reason_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    asker = Asker(monkeypatch, "n\n")
    asker(BASH)
    shown = asker.notes.getvalue()
    assert "Bash wants to run: it runs a command line\n  command: ls -l\n    rm x\n" in shown


def test_always_is_for_this_tool_only(monkeypatch: pytest.MonkeyPatch) -> None:
    other = PermissionRequest("Write", {}, "it changes files")
    assert Asker(monkeypatch, "a\nn\n")(BASH, BASH, other) == [True, True, False]


def test_secrets_and_control_characters_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    asker = Asker(monkeypatch, "n\n")
    asker.notes = Terminal()
    remember_secrets(["abcdef0123456789"])
    command = "curl -H 'Bearer abcdef0123456789' \x1b[2J" + "x" * 5_000
    asker(PermissionRequest("Bash", {"command": command}, "it runs a command line"))
    shown = asker.notes.getvalue()
    assert "abcdef0123456789" not in shown
    assert "\x1b[2J" not in shown
    assert "more characters" in shown


@pytest.mark.parametrize(
    "arguments",
    [
        {"description": "x" * 9_000, "command": "rm -rf y"},
        {"command": "ls #" + "x" * 9_000 + "\nrm -rf y"},
        {"command": "export password=$(rm -rf y)"},
        {"command": "git clone https://a:$(rm -rf y)@h"},
        {"command": "-----BEGIN PRIVATE KEY-----\nrm -rf y\n-----END PRIVATE KEY-----"},
    ],
)
def test_nothing_in_a_call_hides_what_it_runs(
    monkeypatch: pytest.MonkeyPatch, arguments: dict[str, str]
) -> None:
    asker = Asker(monkeypatch, "n\n")
    asker(PermissionRequest("Bash", arguments, "it runs a command line"))
    assert "rm -rf y" in asker.notes.getvalue()


@pytest.mark.parametrize("sign", ["\u202e", "\u2066", "\u200b", "\u00ad"])
def test_signs_that_are_not_seen_are_shown(monkeypatch: pytest.MonkeyPatch, sign: str) -> None:
    asker = Asker(monkeypatch, "n\n")
    asker(PermissionRequest("Bash", {"command": f"l{sign}s"}, "it runs a command line"))
    assert "  command: l\ufffds\n" in asker.notes.getvalue()


def test_ctrl_c_means_no(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pressed(io.StringIO):
        def readline(self, _size: int | None = -1) -> str:  # type: ignore[override]
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
            return "y\n"

    asker = Asker(monkeypatch, "")
    monkeypatch.setattr(sys, "stdin", Pressed())
    assert asker(BASH) == [False]


class Asking(StreamedSession):
    """Asks in its turn, and answers with what it was told."""

    def __init__(self) -> None:
        self.live: LiveSession | None = None

    async def stream(self, message: str, *, files: object = ()) -> AsyncIterator[TurnEvent]:
        assert self.live is not None
        said = await self.live.ask(PermissionRequest(message, {}, "because"))
        yield TurnEnd(ExecutionResult(str(said)))

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("says", [True, False])
def test_a_question_of_the_session_is_answered_in_the_thread_of_the_terminal(says: bool) -> None:
    from contextlib import asynccontextmanager

    session = Asking()

    @asynccontextmanager
    async def opened() -> AsyncIterator[Asking]:
        yield session

    asked: list[str] = []

    def answer(request: PermissionRequest) -> bool:
        asked.append(request.name)
        return says

    session.live = live = LiveSession(opened)
    with live:
        assert live.send("Bash", lambda _event: None, answer).response == str(says)
        assert live.send("Write", lambda _event: None).response == "False"
    assert asked == ["Bash"]


AGENT = """\
name: asker
model:
  provider: anthropic
  name: claude-sonnet-4-5
  api_key: sk-ant-dummy-key-0001
  endpoint: "{url}"
instructions: Write.
claude:
  file_system: {{write: true}}
"""


async def test_a_chat_on_a_terminal_asks_and_does_what_is_said(tmp_path: Path) -> None:
    import asyncio

    from holodeck_backend_claude.testing import ScriptedMessagesAPI, call_tool, forever, say

    script = [
        call_tool("Write", {"file_path": "yes.txt", "content": "x"}),
        call_tool("Write", {"file_path": "no.txt", "content": "x"}),
        forever(say("all done")),
    ]
    async with ScriptedMessagesAPI(script) as api:
        (tmp_path / "agent.yaml").write_text(AGENT.format(url=api.url))
        await asyncio.to_thread(_chat, tmp_path, [("Allow it?", "y"), ("Allow it?", "n")])
    assert (tmp_path / "yes.txt").exists()
    assert not (tmp_path / "no.txt").exists()


def _chat(folder: Path, answers: list[tuple[str, str]]) -> None:
    """Chat on a terminal: a message, the answers to what is asked, and the end."""
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover - another process
        os.execv(
            sys.executable,
            [sys.executable, "-m", "holodeck_backend_claude.cli", "chat", str(folder)],
        )
    until = _reader(terminal)
    try:
        until("Ctrl-D")
        until("> ")
        os.write(terminal, b"Go\n")
        for question, answer in answers:
            until(question)
            os.write(terminal, f"{answer}\n".encode())
        until("no.txt): the user said no")
        until("> ")
        os.write(terminal, b"/exit\n")
    finally:
        os.waitpid(pid, 0)
        os.close(terminal)


def _reader(terminal: int) -> Callable[[str], None]:
    seen = ""

    def until(text: str) -> None:
        nonlocal seen
        end = time.monotonic() + 30
        while text not in seen:
            ready, _, _ = select.select([terminal], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{text!r} did not come: {seen!r}"
            seen += os.read(terminal, 4096).decode(errors="replace")
        seen = seen.split(text, 1)[1]

    return until
