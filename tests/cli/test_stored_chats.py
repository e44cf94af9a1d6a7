"""``chat --resume``, ``--fork`` and ``sessions``, on the real Claude Code without a model."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Program = Callable[..., subprocess.Popen[bytes]]

CLAUDE = """\
name: parrot
model: {provider: anthropic, name: claude-sonnet-4-5}
instructions: Repeat.
claude:
  sessions: {store: sqlite}
"""


@pytest.fixture
def run(program: Program) -> Callable[..., tuple[int, str, str]]:
    """Runs a command to its end, with these lines on stdin."""

    def run(*arguments: str | Path, said: bytes = b"") -> tuple[int, str, str]:
        process = program(*arguments)
        out, err = process.communicate(said, timeout=50)
        assert b"Traceback" not in err
        return process.returncode, out.decode(), err.decode()

    return run


def test_a_chat_says_how_to_go_on_and_is_resumed_forked_listed_and_deleted(
    run: Callable[..., tuple[int, str, str]], agent_file: Path
) -> None:
    agent_file.write_text(CLAUDE)

    def stored() -> list[dict[str, Any]]:
        code, out, _err = run("sessions", agent_file, "list", "--json")
        assert code == 0
        known = json.loads(out)
        assert known["place"].endswith(".holodeck/sessions.db")
        return list(known["sessions"])

    assert stored() == []
    code, out, err = run("sessions", agent_file)
    assert (code, "no conversations in " in out, err) == (0, True, "")
    code, _out, err = run("chat", agent_file, "--offline", "--resume", "last")
    assert (code, "no conversation to go on with" in err) == (2, True)

    code, _out, err = run("chat", agent_file, "--offline", said=b"remember 41\n")
    assert code == 0
    (first,) = stored()
    assert first["title"] == "remember 41"
    to_go_on = f"To go on: holodeck-claude chat {agent_file} --resume {first['session_id']}"
    assert err.splitlines()[-1] == to_go_on

    for again in ("last", first["session_id"]):
        code, _out, err = run("chat", agent_file, "--offline", "--resume", again, said=b"again\n")
        assert (code, err.splitlines()[-1]) == (0, to_go_on)
    (same,) = stored()
    assert same["last_used"] > first["last_used"]

    code, _out, err = run(
        "chat", agent_file, "--offline", "--resume", "last", "--fork", said=b"fork\n"
    )
    assert code == 0
    fork, old = stored()
    assert old == same
    assert fork["title"] == "remember 41"
    assert err.splitlines()[-1].endswith(f"--resume {fork['session_id']}")
    _code, out, _err = run("sessions", agent_file)
    assert [line.split()[0] for line in out.splitlines()] == [fork["session_id"], old["session_id"]]

    code, out, _err = run("sessions", agent_file, "delete", old["session_id"])
    assert (code, out) == (0, "deleted: 1\n")
    code, out, err = run("sessions", agent_file, "delete", old["session_id"], "--json")
    assert (code, json.loads(out)) == (1, {"deleted": []})
    assert "there is no conversation" in err
    code, out, _err = run("sessions", agent_file, "delete", "--all", "--json")
    assert (code, json.loads(out)) == (0, {"deleted": [fork["session_id"]]})
    assert stored() == []


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
def test_what_cannot_be_is_exit_code_2(
    run: Callable[..., tuple[int, str, str]],
    agent_file: Path,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    command, *more = arguments
    code, out, err = run(command, agent_file, *more)
    assert (code, out) == (2, "")
    assert said in err
