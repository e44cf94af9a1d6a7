"""The standard streams: what a tool prints, and streams that are closed or full."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

AGENT = """\
name: a
model: {provider: openai, name: m}
instructions: {inline: Answer.}
"""


def shell(folder: Path, rest: str) -> subprocess.CompletedProcess[str]:
    folder.joinpath("agent.yaml").write_text(AGENT)
    command = f'"{sys.executable}" -m holodeck_backend_claude.cli {rest}'
    return subprocess.run(
        ["sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("rest", "code", "said"),
    [
        ("run agent.yaml <&-", 2, "no question"),
        ("chat agent.yaml <&-", 2, "stdin is closed"),
        ("validate agent.yaml >&-", 2, "stdout is closed"),
    ],
)
def test_a_closed_stream_is_named(tmp_path: Path, rest: str, code: int, said: str) -> None:
    ended = shell(tmp_path, rest)
    assert (ended.returncode, said in ended.stderr) == (code, True), ended.stderr


def test_a_closed_stderr_changes_no_answer(tmp_path: Path) -> None:
    ended = shell(tmp_path, "run agent.yaml hello --offline 2>&-")
    assert ended.returncode == 0
    assert "Internal error" not in ended.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_named(tmp_path: Path) -> None:
    ended = shell(tmp_path, "plugins > /dev/full")
    assert ended.returncode == 1
    assert "cannot be written" in ended.stderr


def test_what_is_printed_while_an_agent_runs_goes_to_stderr(
    site: Path, agent_file: Path, program: Callable[..., subprocess.Popen[bytes]]
) -> None:
    plugin = site / "echo_plugin.py"
    turn = '        if message == "hang":'
    loud = "        print('FROM A TOOL')\n"
    plugin.write_text(plugin.read_text().replace(turn, loud + turn))
    out, err = program("run", agent_file, "hello", "--json").communicate(timeout=60)
    assert json.loads(out)["response"] == "echo: hello"
    assert b"FROM A TOOL" in err
