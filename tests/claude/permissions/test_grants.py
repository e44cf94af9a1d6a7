"""What the claude block may say of grants, and what is refused with which words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from holodeck_backend_claude.claude.permissions.offered import check_sandbox, permission_options
from holodeck_backend_claude.claude.settings import ClaudeSettings
from holodeck_backend_claude.claude.settings.built_ins import BUILT_INS, granted
from holodeck_backend_claude.config import AgentFileError, read_agent
from holodeck_backend_claude.contract import BackendInitError
from holodeck_backend_claude.plugins import load_plugins

AGENTS = {"helper": {"description": "Helps.", "prompt": "Help."}}


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ({}, []),
        ({"bash": {"enabled": True}}, ["Bash"]),
        ({"bash": {"enabled": False}}, []),
        ({"file_system": {"read": True}}, ["Read", "Glob", "Grep"]),
        ({"file_system": {"write": True}}, ["Write"]),
        ({"file_system": {"edit": True}}, ["Edit"]),
        ({"web_search": True}, ["WebSearch"]),
        ({"agents": AGENTS}, ["Agent"]),
        ({"agents": AGENTS, "disallowed_tools": ["Agent"]}, []),
        ({"web_search": True, "allowed_tools": ["kb_search"]}, []),
        ({"bash": None, "file_system": None, "disallowed_tools": None}, []),
    ],
)
def test_each_setting_grants_its_tools(said: dict[str, Any], names: list[str]) -> None:
    assert list(granted(ClaudeSettings(**said))) == names


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"permission_mode": "acceptAll"}, "add 'i_understand_this_is_unsafe: true'"),
        ({"i_understand_this_is_unsafe": True}, "belongs to 'permission_mode: acceptAll'"),
        ({"permission_mode": "yolo"}, "'manual', 'acceptEdits' or 'acceptAll'"),
        ({"allowed_tools": ["Bash"]}, "add 'bash.enabled: true' to 'claude'"),
        ({"allowed_tools": ["WebFetch"]}, "WebFetch is a tool of Claude Code that is never"),
        ({"disallowed_tools": ["Task"]}, "Task is a tool of Claude Code that is never offered"),
        ({"working_directory": "x"}, "'working_directory' is where files and command lines are"),
        ({"sandbox": {"enabled": True}}, "it needs 'bash.enabled: true'"),
        ({"bash": {"enabled": True, "allow_unsafe": True}}, "only with 'excluded_commands'"),
        ({"bash": {"enabled": True, "excluded_commands": ["rm *"]}}, "a command is its name"),
        ({"bash": {"enabled": True, "excluded_commands": ["rm; ls"]}}, "a command is its name"),
        ({"bash": {"enabled": True, "excluded_commands": [""]}}, "a command is its name"),
        ({"bash": {"enabled": True, "excluded_commands": ["-rf"]}}, "a command is its name"),
        ({"bash": {"command": "x"}}, "Extra inputs"),
        ({"bash": {"enabled": True}, "sandbox": {"enable": True}}, "Extra inputs"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(said: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ClaudeSettings(**said)
    assert words in str(caught.value)


def test_what_is_taken_away_need_not_be_granted() -> None:
    assert granted(ClaudeSettings(disallowed_tools=("Bash",))) == ()


def test_the_sandbox_goes_to_claude_code_with_its_ways_out_closed() -> None:
    settings = ClaudeSettings.model_validate(
        {
            "bash": {"enabled": True},
            "sandbox": {"excludedCommands": ["docker"], "network": {"allowedDomains": ["a.org"]}},
        }
    )
    assert permission_options(settings, None)["sandbox"] == {
        "enabled": True,
        "autoAllowBashIfSandboxed": False,
        "allowUnsandboxedCommands": False,
        "excludedCommands": ["docker"],
        "network": {"allowedDomains": ["a.org"]},
    }
    assert "sandbox" not in permission_options(ClaudeSettings(), None)


def test_a_sandbox_that_claude_code_would_go_on_without_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = ClaudeSettings.model_validate({"bash": {"enabled": True}, "sandbox": {}})
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BackendInitError, match="needs bwrap and socat"):
        check_sandbox(settings)
    off = ClaudeSettings.model_validate({"bash": {"enabled": True}, "sandbox": {"enabled": False}})
    check_sandbox(off)


def test_each_built_in_says_what_grants_it() -> None:
    assert all(built_in.granted_by for built_in in BUILT_INS.values())


PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "grant-tools.md"
AGENT_FILES = re.findall(r"```yaml title=[^\n]+\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.mark.parametrize("text", AGENT_FILES)
def test_the_agent_files_of_the_page_are_valid(tmp_path: Path, text: str) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "agent.yaml").write_text(text)
    assert read_agent(tmp_path, load_plugins().registry, environ={}).notices == ()


def test_each_built_in_is_on_the_page() -> None:
    assert all(f"`{name}`" in PAGE.read_text() for name in BUILT_INS)


def test_validate_names_the_line_of_a_grant_that_is_missing(tmp_path: Path) -> None:
    text = AGENT_FILES[0].replace("claude:", "claude:\n  allowed_tools: [Bash]")
    (tmp_path / "notes").mkdir()
    (tmp_path / "agent.yaml").write_text(text)
    with pytest.raises(AgentFileError) as caught:
        read_agent(tmp_path, load_plugins().registry, environ={})
    (problem,) = caught.value.problems
    assert problem.path == "claude"
    assert "To grant it, add 'bash.enabled: true'" in problem.message
