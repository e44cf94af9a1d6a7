"""Which process has which secret: each its own, none on a command line, none in an open file."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from holodeck_backend_claude.claude.backend import ClaudeBackend
from holodeck_backend_claude.claude.process.environment import child_environment
from holodeck_backend_claude.config import Agent
from holodeck_backend_claude.testing import call_tool, say
from tests.e2e.lab import Lab
from tests.support.otlp import OTLPReceiver

from .agents import NOWHERE, everything, mcp_server, registry
from .plants import Plants
from .processes import Process, below, readable_by_others

REGION = {"AWS_REGION": "eu-west-1"}
AZURE = {"AZURE_TENANT_ID": "tenant", "AZURE_CLIENT_ID": "client"}

CREDENTIALS: dict[str, tuple[str, dict[str, str], tuple[str, ...]]] = {
    # by a short name: auth_provider, further variables, the variables that hold a secret
    "key": ("api_key", {}, ("ANTHROPIC_API_KEY",)),
    "oauth": ("oauth_token", {}, ("CLAUDE_CODE_OAUTH_TOKEN",)),
    "gateway": ("custom", {}, ("ANTHROPIC_AUTH_TOKEN",)),
    "bedrock": ("bedrock", REGION, ("AWS_BEARER_TOKEN_BEDROCK",)),
    "aws": (
        "bedrock",
        REGION,
        ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    ),
    "foundry": ("foundry", {}, ("ANTHROPIC_FOUNDRY_API_KEY",)),
    "azure": ("foundry", AZURE, ("AZURE_CLIENT_SECRET",)),
    "identity": ("foundry", {"IDENTITY_ENDPOINT": NOWHERE}, ("IDENTITY_HEADER",)),
}
STARTED = ("key", "oauth", "aws")
# Whose MCP server Claude Code starts itself; it sends no telemetry, for which it would be waited.
NATIVE = {"oauth"}
OF_THE_COLLECTOR = {"collector: header", "collector: password"}


def agent_with(lab: Lab, plants: Plants, credential: str, collector: str) -> Agent:
    """An agent that proves itself in this way; the names of its secrets begin with its own."""
    provider, further, names = CREDENTIALS[credential]
    given = {**further, **{name: plants[f"{credential}: {name}"] for name in names}}
    address = plants.into(NOWHERE, f"{credential}: endpoint")
    said = everything(plants, collector=collector, settings={"native_mcp": credential in NATIVE})
    return lab.agent(
        None,
        name=credential,
        model={"auth_provider": provider, "api_key": None, "endpoint": address},
        tools=(mcp_server(plants, lab.folder, f"{credential}-desk", quotes=[]),),
        dotenv={name: SecretStr(value) for name, value in given.items()},
        **{**said, **({"observability": None} if credential in NATIVE else {})},
    )


def own_secrets(credential: str) -> set[str]:
    variables = CREDENTIALS[credential][2]
    own = {"claude.env", *(f"{credential}: {each}" for each in (*variables, "endpoint"))}
    return own if credential in NATIVE else own | OF_THE_COLLECTOR


@pytest.fixture(autouse=True)
def planted_in_the_environment(plants: Plants, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "GITHUB_TOKEN", "DATABASE_PASSWORD"):
        monkeypatch.setenv(name, plants[f"host: {name}"])


@pytest.mark.parametrize("credential", CREDENTIALS)
def test_claude_code_is_given_the_secrets_of_its_auth_provider(
    lab: Lab, plants: Plants, credential: str
) -> None:
    agents = {name: agent_with(lab, plants, name, NOWHERE) for name in CREDENTIALS}
    agent = agents[credential]
    given = child_environment(agent, agent.environment(), lab.folder)
    assert plants.found_in(*given.values()) == own_secrets(credential)


def secrets_of(server: str) -> set[str]:
    return {f"{server}: {what}" for what in ("env", "file", "password", "URL", "config")}


def servers(running: list[Process]) -> dict[str, Process]:
    """The MCP servers by their name."""
    found = {}
    for process in running:
        _, is_server, rest = process.command.partition('{"name": "')
        if is_server:
            found[rest.partition('"')[0]] = process
    return found


async def test_each_process_has_its_own_secrets_and_no_other(
    lab: Lab, private_folders: Path, plants: Plants
) -> None:
    async with OTLPReceiver() as receiver:
        agents = [agent_with(lab, plants, name, receiver.url) for name in STARTED]
        backends = [ClaudeBackend(agent, registry()) for agent in agents]
        try:
            await asyncio.gather(*(backend.initialize() for backend in backends))
            sessions = await asyncio.gather(*(backend.create_session() for backend in backends))
            pids = {name: session.pid or 0 for name, session in zip(STARTED, sessions, strict=True)}
            running = {process.pid: process for process in below(os.getpid())}
            readable = readable_by_others(private_folders)
            in_files = {
                path.name: found
                for path in private_folders.rglob("*")
                if path.is_file() and (found := plants.found_in(path.read_text(errors="replace")))
            }
        finally:
            await asyncio.gather(*(backend.teardown() for backend in backends))

    of_servers = servers(list(running.values()))
    for name, pid in pids.items():
        assert plants.found_in(running[pid].environment) == own_secrets(name)
        desk = of_servers[f"{name}-desk"]
        assert plants.found_in(desk.environment) == secrets_of(f"{name}-desk")
    others = running.keys() - {*pids.values(), *(process.pid for process in of_servers.values())}
    assert plants.found_in(*(running[pid].environment for pid in others)) == set()
    assert plants.found_in(*(process.command for process in running.values())) == set()
    assert readable == []
    (native,) = NATIVE
    assert in_files == {"mcp-servers.json": secrets_of(f"{native}-desk")}


async def test_a_shell_has_what_the_page_says(lab: Lab, plants: Plants) -> None:
    async with OTLPReceiver() as receiver:
        shell = {
            "bash": {"enabled": True},
            "permission_mode": "acceptAll",
            "i_understand_this_is_unsafe": True,
        }
        api = await lab.api([call_tool("Bash", {"command": "env"}), say("ok")])
        model = {"api_key": plants["model: key"], "endpoint": plants.into(api.url, "endpoint")}
        said = everything(plants, collector=receiver.url, settings=shell)
        backend = await lab.backend(api, model=model, **said)
        result = await backend.invoke_once("Hi")
        await backend.teardown()
    shown: Any = result.tool_results[0]["result"]
    assert "PATH=" in shown
    assert plants.found_in(shown) == {"claude.env", "endpoint"}
