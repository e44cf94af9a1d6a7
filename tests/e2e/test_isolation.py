"""Nothing of the host reaches the model or the process that the agent did not grant."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from holodeck_backend_claude.contract import ToolCall, ToolResult
from holodeck_backend_claude.testing import (
    Answer,
    ModelRequest,
    ScriptedMessagesAPI,
    call_tool,
    forever,
    hang,
    say,
)
from tests.support.probes import Probe, probe_schema

from .lab import Lab, children

SECRET = "sk-host-secret-51f0c2"
MARK = "CANARY-7c1e"


@pytest.fixture
def hostile_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a project full of things that Claude Code would read by itself."""
    home = tmp_path / "home"
    settings = {
        "env": {"FROM_SETTINGS": MARK},
        "permissions": {"allow": ["Bash"]},
        "hooks": {
            "UserPromptSubmit": [{"hooks": [{"type": "command", "command": f"echo {MARK}-hook"}]}]
        },
    }
    for folder in (home / ".claude", tmp_path / ".claude", tmp_path / ".holodeck"):
        folder.mkdir(parents=True)
        (folder / "settings.json").write_text(json.dumps(settings))
        (folder / "CLAUDE.md").write_text(f"{MARK} in {folder.name}")
    (home / ".claude" / "agents").mkdir()
    (home / ".claude" / "agents" / "spy.md").write_text(f"---\nname: spy\n---\n{MARK}")
    (home / ".claude.json").write_text(
        json.dumps({"mcpServers": {MARK: {"command": "/bin/false"}}, "primaryApiKey": SECRET})
    )
    (tmp_path / "CLAUDE.md").write_text(f"{MARK} project memory")
    (tmp_path / "MEMORY.md").write_text(f"{MARK} auto memory")
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {MARK: {"command": "false"}}}))
    (tmp_path / "secret.txt").write_text(f"{MARK} file contents")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / ".claude"))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    monkeypatch.setenv("DATABASE_URL", f"postgres://u:{SECRET}@127.0.0.1/db")
    monkeypatch.setenv("ANTHROPIC_MODEL", "some-other-model")
    monkeypatch.setenv("CLAUDE_CODE_EXTRA_BODY", json.dumps({"metadata": MARK}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def everything_sent(api: ScriptedMessagesAPI) -> str:
    return json.dumps([[r.body, dict(r.headers)] for r in api.requests + api.side_requests])


@pytest.mark.usefixtures("hostile_host")
async def test_nothing_of_a_hostile_home_or_project_is_in_any_request(lab: Lab) -> None:
    probe = Probe("kb", lambda _: ToolResult.from_text("r"), probe_schema())
    api = await lab.api([call_tool("kb", {"query": "x"}), forever(say("ok"))])
    backend = await lab.backend(api, probe)
    session = await backend.create_session()
    await session.send("Hi")
    await session.send("Again")
    sent = everything_sent(api)
    assert MARK not in sent
    assert SECRET not in sent
    assert str(lab.folder) not in sent
    assert api.requests[0].model != "some-other-model"


@pytest.mark.parametrize("mention", ["@secret.txt", "@{folder}/secret.txt", "read @./secret.txt"])
async def test_a_message_that_mentions_a_file_does_not_read_it(
    lab: Lab, hostile_host: Path, mention: str
) -> None:
    api = await lab.api([say("ok")])
    backend = await lab.backend(api)
    message = mention.format(folder=hostile_host)
    await backend.invoke_once(message)
    assert MARK not in everything_sent(api)
    assert message in api.requests[0].last_user_text


@pytest.mark.parametrize(
    "message", ["/cost", "/clear", "/compact", "/init", "/nothing", "!ls", "#x"]
)
async def test_a_message_is_words_and_never_a_command_of_claude_code(
    lab: Lab, message: str
) -> None:
    api = await lab.api([say("from the model")])
    backend = await lab.backend(api)
    result = await backend.invoke_once(message)
    assert result.response == "from the model"
    assert message in api.requests[0].last_user_text


async def test_the_process_sees_only_what_it_is_given(lab: Lab, hostile_host: Path) -> None:
    begun = asyncio.Event()

    async def answer(_request: ModelRequest) -> Answer:
        begun.set()
        return hang()

    api = await lab.api([answer])
    backend = await lab.backend(api)
    session = await backend.create_session()
    turn = asyncio.create_task(session.send("Hi"))
    await begun.wait()
    process = Path("/proc") / str(session.pid)
    environment = dict(
        pair.split("=", 1) for pair in (process / "environ").read_text().split("\0") if pair
    )
    command = (process / "cmdline").read_text()
    folder = (process / "cwd").readlink()
    turn.cancel()
    assert SECRET not in str(environment)
    assert not {"AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY", "DATABASE_URL"} & environment.keys()
    assert environment["ANTHROPIC_API_KEY"] == "sk-ant-dummy-key-0001"
    assert environment["HOME"].startswith(str(folder.parent))
    assert "sk-ant-dummy-key-0001" not in command
    assert "You are a probe." not in command
    assert not any(folder.iterdir())
    assert os.getpgid(session.pid or 0) == session.pid != os.getpgid(0)
    assert os.environ["ANTHROPIC_API_KEY"] == SECRET  # ours is as it was
    assert hostile_host.joinpath("CLAUDE.md").exists()


async def test_a_key_in_the_environment_is_used_where_the_agent_has_none(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-from-the-environment")
    api = await lab.api([say("ok")])
    backend = await lab.backend(api, model={"api_key": None})
    await backend.invoke_once("Hi")
    assert api.requests[0].headers["x-api-key"] == "sk-ant-from-the-environment"


async def test_a_tool_that_echoes_a_secret_does_not_show_it_in_an_error(lab: Lab) -> None:
    def fall(_call: ToolCall) -> ToolResult:
        raise RuntimeError("401 for key sk-ant-api03-AAAABBBBCCCCDDDDEEEEFFFF0000")

    api = await lab.api([call_tool("kb", {"query": "x"}), say("ok")])
    backend = await lab.backend(api, Probe("kb", fall, probe_schema()))
    result = await backend.invoke_once("Hi")
    assert "AAAABBBBCCCC" not in json.dumps(result.to_dict())
    assert "AAAABBBBCCCC" not in everything_sent(api)


async def test_what_the_process_wrote_is_gone_when_the_session_is_closed(lab: Lab) -> None:
    api = await lab.api([say("ok")])
    backend = await lab.backend(api)
    session = await backend.create_session()
    await session.send("Hi")
    client = session._owner.process.client
    assert client is not None
    assert client._folder is not None
    folder = client._folder.path
    assert folder.stat().st_mode & 0o777 == 0o700
    await session.close()
    assert not folder.exists()
    assert children() == []
