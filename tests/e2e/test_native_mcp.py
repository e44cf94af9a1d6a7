"""``claude.native_mcp``: Claude Code starts the servers itself, and what may go wrong with that."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude import build_claude_mcp_configs
from holodeck_backend_claude.claude._compat import knows_whole_servers, limits_native_calls
from holodeck_backend_claude.claude.backend import ClaudeBackend
from holodeck_backend_claude.claude.native_mcp import native_servers
from holodeck_backend_claude.claude.settings import ClaudeSettings
from holodeck_backend_claude.config import Agent, Instructions, MCPTool, ModelConfig
from holodeck_backend_claude.contract import BackendInitError
from holodeck_backend_claude.testing import call_tool, forever, say
from tests.support.probes import registry_of

from .lab import Lab

RAW_SERVER = Path(__file__).parents[1] / "support" / "mcp_raw_server.py"
SECRET = "tops3cret-value-1"
KEY = "sk-ant-api03-abcdefghijklmnop0123456789"


def raw(folder: Path, said: dict[str, Any] | None = None, **keys: Any) -> MCPTool:
    told = json.dumps({"record": str(folder / "record"), **(said or {})})
    settings = {
        "name": "raw",
        "description": "A raw server.",
        "command": sys.executable,
        "args": ("-I", "-S", str(RAW_SERVER), told),
        "timeout": 20,
    }
    return MCPTool.model_validate({**settings, **keys})


def pids(folder: Path) -> set[int]:
    lines = (folder / "record").read_text().splitlines()
    return {json.loads(line)["pid"] for line in lines}


async def ended(pid: int) -> None:
    """Return once a process is gone; what is left for init to bury has no command line."""
    command = Path(f"/proc/{pid}/cmdline")
    for _ in range(200):
        if not command.exists() or not command.read_bytes():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"process {pid} still runs")


async def test_its_tools_are_called_and_no_secret_is_on_a_command_line_or_reaches_it(
    lab: Lab,
) -> None:
    spawn = call_tool("mcp__raw__spawn", {"alone": True})
    api = await lab.api([call_tool("mcp__raw__env", {}), spawn, forever(say("ok"))])
    server = raw(lab.folder, env={"OWN_TOKEN": SECRET}, args=raw(lab.folder).args)
    backend = await lab.backend(api, tools=(server,), settings={"native_mcp": True})
    session = await backend.create_session()
    command = Path(f"/proc/{session.pid}/cmdline").read_text()
    assert SECRET not in command
    client = session._owner.process.client
    assert client is not None
    assert client.folder is not None
    file = client.folder.path / "mcp-servers.json"
    assert SECRET in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    result = await session.send("Hi")
    assert result.tool_calls[0]["name"] == "mcp__raw__env"
    call, spawned = result.tool_results
    assert not call["is_error"], call
    seen = json.loads(call["result"])["env"]
    assert seen["OWN_TOKEN"] == SECRET
    assert "ANTHROPIC_API_KEY" not in seen
    assert "sk-ant-dummy-key-0001" not in json.dumps(seen)
    await session.close()
    for pid in (*pids(lab.folder), int(spawned["result"])):
        await ended(pid)


async def test_a_server_that_does_not_connect_is_an_error_naming_it(lab: Lab) -> None:
    api = await lab.api([forever(say("ok"))])
    server = raw(lab.folder, {"exit": 3}, name="dead")
    with pytest.raises(BackendInitError, match=r"MCP server failed: dead: Claude Code could not"):
        await lab.backend(api, tools=(server,), settings={"native_mcp": True})
    assert api.requests == []


async def test_a_server_runs_in_the_folder_of_the_agent_as_without_claude_code(lab: Lab) -> None:
    api = await lab.api([call_tool("mcp__raw__echo", {"text": "here"}), forever(say("ok"))])
    (lab.folder / "srv.py").write_text(RAW_SERVER.read_text())
    told = json.dumps({"record": "record"})
    server = raw(lab.folder, args=("-I", "-S", "srv.py", told))
    backend = await lab.backend(api, tools=(server,), settings={"native_mcp": True})
    result = await backend.invoke_once("Hi")
    assert not result.tool_results[0]["is_error"], result.tool_results
    assert (lab.folder / "record").is_file()


def test_a_folder_that_claude_code_would_take_for_a_variable_is_refused(tmp_path: Path) -> None:
    agent = Agent(
        name="a",
        model=ModelConfig(provider="anthropic", name="claude-sonnet-4-5"),
        instructions=Instructions(inline="x"),
        tools=(raw(tmp_path),),
        base_dir=tmp_path / "${HOME}",
    )
    with pytest.raises(BackendInitError, match=r"move it, or remove 'claude\.native_mcp'"):
        native_servers(agent, ClaudeSettings(native_mcp=True))


async def test_the_last_lines_of_a_server_that_does_not_start_are_in_the_error(lab: Lab) -> None:
    api = await lab.api([forever(say("ok"))])
    words = f"import sys; sys.exit('no licence for {KEY}')"
    server = raw(lab.folder, name="dead", args=("-I", "-S", "-c", words))
    with pytest.raises(BackendInitError) as caught:
        await lab.backend(api, tools=(server,), settings={"native_mcp": True})
    assert "Its last output:\n  no licence for " in str(caught.value)
    assert KEY not in str(caught.value)


async def hand_over(lab: Lab, *tools: str) -> set[str]:
    """What a subagent with these tools is offered."""
    task = {"subagent_type": "finder", "description": "d", "prompt": "p"}
    api = await lab.api([call_tool("Agent", task), forever(say("ok"))])
    finder = {"description": "d", "prompt": "You are the finder.", "tools": list(tools)}
    settings = {"native_mcp": True, "agents": {"finder": finder}}
    backend = await lab.backend(api, tools=(raw(lab.folder),), settings=settings)
    await backend.invoke_once("Hi")
    (request,) = (each for each in api.requests if "You are the finder." in each.system)
    return {tool.name for tool in request.tools if tool.name.startswith("mcp__")}


async def test_a_subagent_gets_a_tool_of_a_server_by_its_name_on_the_wire(lab: Lab) -> None:
    assert await hand_over(lab, "mcp__raw__echo") == {"mcp__raw__echo"}


@pytest.mark.parametrize("name", ["mcp__raw", "mcp__raw__*"])
async def test_a_subagent_gets_a_whole_server_or_is_told_that_it_cannot(
    lab: Lab, name: str
) -> None:
    if knows_whole_servers():
        assert {"mcp__raw__echo", "mcp__raw__env"} < await hand_over(lab, name)
        return
    with pytest.raises(BackendInitError, match=r"name each tool \(mcp__raw__<tool>\)"):
        await hand_over(lab, name)


@pytest.mark.parametrize(("name", "meant"), [("raw_echo", "mcp__raw__echo"), ("raw", "mcp__raw")])
async def test_a_subagents_tool_by_a_name_of_ours_is_refused_with_the_one_to_write(
    lab: Lab, name: str, meant: str
) -> None:
    with pytest.raises(BackendInitError, match=f"write '{meant}'"):
        await hand_over(lab, name)


async def test_an_optional_one_is_a_warning(lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
    api = await lab.api([forever(say("ok"))])
    server = raw(lab.folder, {"exit": 3}, name="dead", optional=True)
    backend = await lab.backend(api, tools=(server,), settings={"native_mcp": True})
    assert (await backend.invoke_once("Hi")).response == "ok"
    assert "MCP server failed: dead" in caplog.text
    assert "the agent runs without it" in caplog.text


async def test_without_side_effects_none_of_its_tools_is_called(lab: Lab) -> None:
    api = await lab.api([call_tool("mcp__raw__env", {}), forever(say("ok"))])
    agent = lab.agent(api, tools=(raw(lab.folder),), settings={"native_mcp": True})
    backend = ClaudeBackend(agent, registry_of().with_permissions(None, side_effects=False))
    await backend.initialize()
    try:
        result = await backend.invoke_once("Hi")
    finally:
        await backend.teardown()
    (denial,) = result.permission_denials
    assert "side effects are off in this run" in denial["reason"]
    assert result.tool_results[0]["is_error"]


async def test_what_is_not_allowed_is_not_called(lab: Lab) -> None:
    api = await lab.api(
        [call_tool("mcp__raw__fail", {}), call_tool("mcp__raw__env", {}), forever(say("ok"))]
    )
    settings = {
        "native_mcp": True,
        "allowed_tools": ["mcp__raw__env", "mcp__raw__echo"],
        "disallowed_tools": ["mcp__raw__echo"],
    }
    backend = await lab.backend(api, tools=(raw(lab.folder),), settings=settings)
    result = await backend.invoke_once("Hi")
    assert [r["is_error"] for r in result.tool_results] == [True, False]
    assert "mcp__raw__echo" not in {tool["name"] for tool in api.requests[0].body["tools"]}


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"encoding": "latin-1"}, "encoding: iso8859-1"),
        ({"load_tools": False, "load_prompts": True}, "load_tools: false"),
        ({"on_error": "fail"}, "on_error: fail"),
        ({"env": {"A": "${HOME}"}}, r"the text '\$\{'"),
    ],
)
def test_what_claude_code_cannot_do_is_refused(
    tmp_path: Path, keys: dict[str, Any], problem: str
) -> None:
    with pytest.raises(BackendInitError, match=rf"'raw' has '?{problem}"):
        build_claude_mcp_configs([raw(tmp_path, **keys)])


def test_a_websocket_is_refused() -> None:
    tool = MCPTool(name="w", description="d", transport="websocket", url="wss://example.test")
    with pytest.raises(BackendInitError, match="transport: websocket"):
        build_claude_mcp_configs([tool])


def test_two_servers_of_one_name_or_one_of_ours_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BackendInitError, match="'a b' and the server 'a_b'"):
        build_claude_mcp_configs([raw(tmp_path, name="a_b"), raw(tmp_path, name="a b")])
    with pytest.raises(BackendInitError, match="the server of all other tools"):
        build_claude_mcp_configs([raw(tmp_path, name="holodeck_tools")])


def test_the_mapping_for_the_sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-x")
    (tmp_path / "vars").write_text("FROM_FILE=1\n")
    local = MCPTool.model_validate(
        {
            "name": "files",
            "description": "d",
            "command": "./server",
            "args": ["-y", "../data", "plain"],
            "env": {"A": "b"},
            "env_file": "vars",
            "config": {"deep": True},
            "request_timeout": 5,
        }
    )
    far = MCPTool.model_validate(
        {
            "name": "far",
            "description": "d",
            "transport": "http",
            "url": "https://example.test/mcp",
            "headers": {"X-Key": "v"},
        }
    )
    configs: dict[str, Any] = dict(build_claude_mcp_configs([local, far], base_dir=tmp_path))
    env = configs["files"].pop("env")
    assert (env["A"], env["FROM_FILE"], env["MCP_CONFIG"]) == ("b", "1", '{"deep": true}')
    assert "ANTHROPIC_API_KEY" not in env
    assert configs == {
        "files": {
            "type": "stdio",
            "command": str(tmp_path / "server"),
            "args": ["-y", str(tmp_path.parent / "data"), "plain"],
            "timeout": 5_000,
        },
        "far": {
            "type": "http",
            "url": "https://example.test/mcp",
            "headers": {"X-Key": "v"},
            "timeout": 60_000,
        },
    }


def test_servers_of_another_installation_have_the_same_shape() -> None:
    class Word:
        def __init__(self, value: str) -> None:
            self.value = value

    class Other:
        name = "other"
        transport = Word("stdio")
        command = Word("npx")
        args = None
        env = {"A": "b"}  # noqa: RUF012
        env_file = None
        config = None
        encoding = None
        request_timeout = 60

    configs: dict[str, Any] = dict(build_claude_mcp_configs([Other()]))
    assert configs["other"]["command"] == "npx"
    assert configs["other"]["args"] == []
    assert configs["other"]["env"]["A"] == "b"


async def test_settings_without_effect_are_named_once(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    api = await lab.api([forever(say("ok"))])
    server = raw(lab.folder, concurrency=2, load_prompts=True)
    await lab.backend(api, tools=(server,), settings={"native_mcp": True})
    assert caplog.text.count("raw.concurrency, raw.load_prompts: no effect") == 1


async def test_the_limit_of_a_call_holds_where_claude_code_knows_it_and_is_named_where_not(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    api = await lab.api([call_tool("mcp__raw__hang", {}), forever(say("ok"))])
    server = raw(lab.folder, request_timeout=1)
    backend = await lab.backend(api, tools=(server,), settings={"native_mcp": True})
    if not limits_native_calls():
        assert "raw.request_timeout: no effect" in caplog.text
        return
    result = await backend.invoke_once("Hi")
    assert result.tool_results[0]["is_error"]
    assert "timed out after 1s" in result.tool_results[0]["result"]
