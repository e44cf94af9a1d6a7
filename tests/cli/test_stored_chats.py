"""``chat --resume``, ``--fork`` and ``sessions``, on the real Claude Code without a model."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.cli import main

Program = Callable[..., subprocess.Popen[bytes]]

CLAUDE = """\
name: parrot
model: {provider: anthropic, name: claude-sonnet-4-5}
instructions: Repeat.
claude:
  sessions: {store: sqlite}
"""


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command in this process."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def chat(program: Program, agent_file: Path) -> Callable[..., str]:
    """Says one thing in a chat of its own, without a model; returns the last line on stderr."""
    agent_file.write_text(CLAUDE)

    def say(message: str, *arguments: str) -> str:
        process = program("chat", agent_file, "--offline", *arguments)
        _out, err = process.communicate(f"{message}\n".encode(), timeout=50)
        assert b"Traceback" not in err
        assert process.returncode == 0
        return err.decode().splitlines()[-1]

    return say


@pytest.mark.timeout(180)
def test_a_chat_says_how_to_go_on_and_is_resumed_forked_listed_and_deleted(
    chat: Callable[..., str], command: Callable[..., tuple[int, str, str]], agent_file: Path
) -> None:
    def stored() -> list[dict[str, Any]]:
        code, out, _err = command("sessions", agent_file, "list", "--json")
        assert code == 0
        known = json.loads(out)
        assert known["place"].endswith(".holodeck/sessions.db")
        return list(known["sessions"])

    assert stored() == []
    code, out, err = command("sessions", agent_file)
    assert (code, "no conversations in " in out, err) == (0, True, "")

    told = chat("remember 41")
    (first,) = stored()
    assert first["title"] == "remember 41"
    go_on = f"To go on: holodeck-claude chat {agent_file} --resume {first['session_id']}"
    assert told == go_on

    assert chat("again", *go_on.split()[-2:]) == go_on
    (same,) = stored()
    assert same["last_used"] > first["last_used"]

    told = chat("fork", "--resume", "last", "--fork")
    fork, old = stored()
    assert old == same
    assert fork["title"] == "remember 41"
    assert told.endswith(f"--resume {fork['session_id']}")
    _code, out, _err = command("sessions", agent_file)
    assert [line.split()[0] for line in out.splitlines()] == [fork["session_id"], old["session_id"]]

    code, out, _err = command("sessions", agent_file, "delete", old["session_id"])
    assert (code, out) == (0, "deleted: 1\n")
    code, out, err = command("sessions", agent_file, "delete", old["session_id"], "--json")
    assert (code, json.loads(out)) == (1, {"deleted": []})
    assert "there is no conversation" in err
    chat("another", "--resume", "last", "--fork")
    code, out, _err = command("sessions", agent_file, "delete", "last")
    assert (code, out) == (0, "deleted: 1\n")
    assert [each["session_id"] for each in stored()] == [fork["session_id"]]
    code, out, _err = command("sessions", agent_file, "delete", "--all", "--json")
    assert (code, json.loads(out)) == (0, {"deleted": [fork["session_id"]]})
    assert stored() == []


def test_a_chat_whose_end_is_not_stored_says_so_and_not_how_to_go_on(
    program: Program, agent_file: Path
) -> None:
    agent_file.write_text(CLAUDE)
    process = program("chat", agent_file, "--offline")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"one\n")
    process.stdin.flush()
    assert process.stdout.readline()  # it is answered, so it is stored
    store = agent_file.parent / ".holodeck" / "sessions.db"
    store.rename(store.with_name("elsewhere"))
    store.mkdir()
    out, err = process.communicate(b"two\n", timeout=50)
    lines = err.decode().splitlines()
    assert lines[-1] == (
        f"The end of this chat is not stored; what is: holodeck-claude sessions {agent_file}"
    )
    assert b"Traceback" not in err
    assert b"To go on" not in err
    assert out.strip()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("sessions",), "the agent 'parrot' stores no conversations"),
        (("chat", "--resume", "x"), "the agent 'parrot' stores no conversations"),
        (("chat", "--fork"), "--fork needs --resume"),
        (("sessions", "delete"), "needs either the id of a conversation or --all"),
        (("sessions", "delete", "x", "--all"), "needs either the id of a conversation or --all"),
        (("sessions", "list", "x"), "'list' takes no conversation"),
    ],
)
@pytest.mark.usefixtures("installed")
def test_what_cannot_be_is_exit_code_2(
    command: Callable[..., tuple[int, str, str]],
    agent_file: Path,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    name, *more = arguments
    code, out, err = command(name, agent_file, *more)
    assert (code, out) == (2, "")
    assert said in err
