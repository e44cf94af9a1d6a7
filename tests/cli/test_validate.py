"""``holodeck-claude validate``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holodeck_backend_claude.cli import main

pytestmark = pytest.mark.usefixtures("installed")


def test_a_valid_file_is_summed_up(agent_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(agent_file)]) == 0
    out = capsys.readouterr().out
    assert f"{agent_file} is valid" in out
    assert "model: small (echo)" in out
    assert "tools: none" in out


def test_the_description_is_shown(agent_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agent_file.write_text(agent_file.read_text() + "description: Says it again\n")
    assert main(["validate", str(agent_file)]) == 0
    assert "(Says it again)" in capsys.readouterr().out


def test_notices_are_shown(agent_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agent_file.write_text(agent_file.read_text() + "deployment: {}\n")
    assert main(["validate", str(agent_file)]) == 0
    assert "agent.yaml:4:1  deployment: 'deployment' is for" in capsys.readouterr().out


def test_a_folder_stands_for_its_agent_file(agent_file: Path) -> None:
    assert main(["validate", str(agent_file.parent)]) == 0


def test_all_problems_are_shown_on_stderr_with_their_places(
    agent_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent_file.write_text("nam: x\nmodel: {provider: ecko, name: small}\ninstructions: Repeat.\n")
    assert main(["validate", str(agent_file)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    assert f"{agent_file}:1:1  nam: unknown key 'nam'; did you mean 'name'?" in captured.err
    assert f"{agent_file}:2:19  model.provider: unknown provider 'ecko'" in captured.err


def test_json_of_a_valid_file(agent_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agent_file.write_text(agent_file.read_text() + "openai: {}\n")
    assert main(["validate", str(agent_file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["valid"] is True
    assert found["problems"] == []
    assert [notice["path"] for notice in found["notices"]] == ["openai"]


def test_json_of_a_wrong_file(agent_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agent_file.write_text(agent_file.read_text() + "tools: [{type: nope}]\n")
    assert main(["validate", str(agent_file), "--json"]) == 2
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found["valid"] is False
    (problem,) = found["problems"]
    assert (problem["file"], problem["line"], problem["path"]) == (
        str(agent_file),
        4,
        "tools[0].type",
    )
    assert captured.err == ""


def test_a_missing_file_is_told_in_both_forms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = str(tmp_path / "nope.yaml")
    assert main(["validate", missing]) == 2
    assert "there is no such file" in capsys.readouterr().err
    assert main(["validate", missing, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["valid"] is False


def test_a_blocked_plugin_is_named_where_its_block_stands(
    agent_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent_file.write_text(agent_file.read_text() + "claude: {max_turns: 3}\n")
    assert main(["validate", str(agent_file), "--block-plugin", "claude"]) == 2
    err = capsys.readouterr().err
    assert "claude: no loaded backend reads the block 'claude'" in err
    assert "blocked by --block-plugin" in err


def test_the_plugins_block_of_the_file_counts(
    agent_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent_file.write_text(agent_file.read_text() + "plugins: {block: [echo]}\n")
    assert main(["validate", str(agent_file)]) == 2
    err = capsys.readouterr().err
    assert "unknown provider 'echo'" in err
    assert "the plugin 'echo' of echo-backend 1.5 is blocked by plugins.block" in err


def test_nothing_is_opened(agent_file: Path) -> None:
    assert main(["validate", str(agent_file)]) == 0
    assert not (agent_file.parent / "diary.txt").exists()


def test_neither_sdk_nor_semantic_kernel_is_imported(
    agent_file: Path, program: Callable[..., subprocess.Popen[bytes]]
) -> None:
    agent_file.write_text(agent_file.read_text().replace("echo", "anthropic"))
    code = (
        "import sys; from holodeck_backend_claude.cli import main\n"
        "code = main(['validate', sys.argv[1]])\n"
        "heavy = ('claude_agent_sdk', 'semantic_kernel', 'mcp', 'aiohttp', 'openai')\n"
        "print(code, [m for m in sys.modules if m.split('.')[0] in heavy])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(agent_file)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "0 []"
