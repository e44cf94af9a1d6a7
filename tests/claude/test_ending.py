"""When an idle process is given time to end, and when it is killed at once."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, InMemorySessionStore

from holodeck_backend_claude.claude._compat import bundled_cli, known_version
from holodeck_backend_claude.claude.process.ending import can_be_replaced, has_last_work

FOLDER = Path("/private")


def options(env: dict[str, str] | None = None, **fields: Any) -> ClaudeAgentOptions:
    given: dict[str, Any] = {"tools": [], "mcp_servers": {}, **fields}
    return ClaudeAgentOptions(env={"CLAUDE_CONFIG_DIR": "/private/config", **(env or {})}, **given)


def test_a_process_with_only_our_tools_has_nothing_left_to_do() -> None:
    ours: Any = {"type": "sdk", "name": "holodeck_tools", "instance": None}
    assert not has_last_work(options(mcp_servers={"holodeck_tools": ours}), FOLDER)


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"env": {"CLAUDE_CODE_ENABLE_TELEMETRY": "1"}}, id="telemetry"),
        pytest.param({"session_store": InMemorySessionStore()}, id="session store"),
        pytest.param({"env": {"CLAUDE_CONFIG_DIR": "/elsewhere"}}, id="transcripts that stay"),
        pytest.param({"mcp_servers": {"files": {"command": "serve"}}}, id="servers of its own"),
        pytest.param({"mcp_servers": "servers.json"}, id="servers in a file"),
        pytest.param({"tools": ["Bash"]}, id="built-in tools"),
        pytest.param({"tools": None}, id="all built-in tools"),
    ],
)
def test_a_process_that_does_more_is_given_time_to_end(more: dict[str, Any]) -> None:
    assert has_last_work(options(**more), FOLDER)


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"mcp_servers": {"files": {"command": "serve"}}}, id="servers of its own"),
        pytest.param({"extra_args": {"mcp-config": "servers.json"}}, id="servers in a file"),
        pytest.param({"tools": ["Agent"]}, id="subagents"),
        pytest.param({"max_budget_usd": 1.0}, id="what it has cost"),
    ],
)
def test_a_process_that_knows_what_another_would_not_stays(more: dict[str, Any]) -> None:
    assert can_be_replaced(options())
    assert not can_be_replaced(options(**more))


def test_the_version_of_the_bundled_program_is_what_it_says_itself() -> None:
    program = bundled_cli()
    assert program
    said = subprocess.run([program, "-v"], check=True, capture_output=True, text=True)
    assert known_version(program) == said.stdout.strip()


def test_the_version_of_another_program_is_not_known(tmp_path: Path) -> None:
    assert known_version(str(tmp_path / "claude")) is None
