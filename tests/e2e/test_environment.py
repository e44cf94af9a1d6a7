"""The variables of the Claude Code process and of what it starts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.claude.backend import ClaudeBackend
from holodeck_backend_claude.claude.session import ClaudeSession
from holodeck_backend_claude.contract import BackendInitError
from holodeck_backend_claude.testing import Answer, ModelRequest, call_tool, hang, say
from tests.support.probes import registry_of

from .lab import Lab

GIVEN = {
    "LANG": "C.UTF-8",
    "LC_TIME": "de_DE.UTF-8",
    "TZ": "Europe/Berlin",
    "HTTPS_PROXY": "http://user:proxy-password-1@127.0.0.1:9",
    "https_proxy": "http://127.0.0.1:9",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "http_proxy": "http://127.0.0.1:9",
    "ALL_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1",
    "no_proxy": "127.0.0.1",
    "NODE_EXTRA_CA_CERTS": "/etc/hostname",
    "SSL_CERT_DIR": "/etc",
    "REQUESTS_CA_BUNDLE": "/etc/hostname",
    "CURL_CA_BUNDLE": "/etc/hostname",
    "AWS_CA_BUNDLE": "/etc/hostname",
}
KEPT_OUT = {
    "OPENAI_API_KEY": "host-openai-key-0001",
    "AWS_SECRET_ACCESS_KEY": "host-aws-secret-0001",
    "CLAUDE_CODE_USE_BEDROCK": "1",
    "ANTHROPIC_AUTH_TOKEN": "host-auth-token-0001",
    "ANTHROPIC_MODEL": "another-model",
    "GITHUB_TOKEN": "host-github-token-0001",
    "NODE_OPTIONS": "--no-warnings",
    "PYTHONPATH": "/nowhere",
    "TRACEPARENT": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "UNKNOWN_OF_THE_HOST": "host-value-0001",
    "CLAUDE_CODE_ENTRYPOINT": "host-entrypoint",
}


@asynccontextmanager
async def in_a_turn(lab: Lab, **said: Any) -> AsyncIterator[ClaudeSession]:
    """A session while its model is about to answer."""
    begun = asyncio.Event()

    async def answer(_request: ModelRequest) -> Answer:
        begun.set()
        return hang()

    api = await lab.api([answer])
    backend = await lab.backend(api, **said)
    session = await backend.create_session()
    turn = asyncio.create_task(session.send("Hi"))
    await begun.wait()
    yield session
    turn.cancel()
    await asyncio.wait({turn})


def environment_of(session: ClaudeSession) -> dict[str, str]:
    text = (Path("/proc") / str(session.pid) / "environ").read_text()
    return dict(pair.split("=", 1) for pair in text.split("\0") if pair)


async def test_the_process_gets_the_allowlist_and_nothing_else_of_the_host(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**GIVEN, **KEPT_OUT}.items():
        monkeypatch.setenv(name, value)
    before = dict(os.environ)
    async with in_a_turn(lab) as session:
        environment = environment_of(session)
    assert dict(os.environ) == before
    assert GIVEN.items() <= environment.items()
    assert environment["PATH"] == before["PATH"]
    folder = Path(environment["HOME"])
    assert Path(environment["TMPDIR"]).parent == folder
    assert Path(environment["CLAUDE_CONFIG_DIR"]).parent == folder
    assert environment["ANTHROPIC_API_KEY"] == "sk-ant-dummy-key-0001"
    assert not (KEPT_OUT.keys() - {"CLAUDE_CODE_ENTRYPOINT"}) & environment.keys()
    assert not set(KEPT_OUT.values()) - {"1"} & set(environment.values())
    of_host = {name for name in environment if environment[name] == before.get(name)}
    assert of_host <= {*GIVEN, "PATH", "SHELL", "USER", "LOGNAME", "LANGUAGE", "SSL_CERT_FILE"} | {
        name for name in before if name.startswith("LC_")
    }


async def test_variables_of_agent_yaml_reach_the_process(lab: Lab) -> None:
    env = {"TEAM": "orders", "LANG": "fr_FR.UTF-8", "ANTHROPIC_CUSTOM_HEADERS": "x-team: orders"}
    async with in_a_turn(lab, settings={"env": env}) as session:
        assert env.items() <= environment_of(session).items()


async def test_a_shell_that_was_granted_gets_them_and_nothing_of_the_host(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in KEPT_OUT.items():
        monkeypatch.setenv(name, value)
    settings = {
        "env": {"TEAM": "orders"},
        "bash": {"enabled": True},
        "permission_mode": "acceptAll",
        "i_understand_this_is_unsafe": True,
    }
    script = [call_tool("Bash", {"command": "env"}), say("ok")]
    _api, backend = await lab.run(script, settings=settings)
    result = await backend.invoke_once("Hi")
    shown = result.tool_results[0]["result"]
    assert "TEAM=orders" in shown.splitlines()
    assert [value for value in KEPT_OUT.values() if value != "1" and value in shown] == []


async def test_a_header_for_a_gateway_is_on_the_wire(lab: Lab) -> None:
    env = {"ANTHROPIC_CUSTOM_HEADERS": "x-team: orders"}
    api, backend = await lab.run([say("ok")], settings={"env": env})
    await backend.invoke_once("Hi")
    assert api.requests[0].headers["x-team"] == "orders"


async def test_a_variable_that_this_package_sets_is_refused_at_the_start(lab: Lab) -> None:
    agent = lab.agent(await lab.api([]), settings={"env": {"API_TIMEOUT_MS": "1"}})
    with pytest.raises(BackendInitError, match=r"claude\.env cannot set API_TIMEOUT_MS"):
        await ClaudeBackend(agent, registry_of()).initialize()


async def test_one_of_the_chosen_provider_is_refused_too(lab: Lab) -> None:
    model = {"auth_provider": "bedrock", "api_key": "bedrock-key"}
    settings = {"env": {"AWS_PROFILE": "other", "AWS_REGION": "eu-west-1"}}
    agent = lab.agent(None, model=model, settings=settings, dotenv={"AWS_REGION": "eu-west-1"})
    with pytest.raises(BackendInitError, match="cannot set AWS_PROFILE, AWS_REGION"):
        await ClaudeBackend(agent, registry_of()).initialize()
