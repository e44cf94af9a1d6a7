"""``--offline`` with the real backends: answers without a model, and nothing leaves the machine."""

from __future__ import annotations

import contextlib
import json
import os
import socketserver
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holodeck_backend_claude.cli import main
from holodeck_backend_claude.cli.offline import leads_elsewhere, run_offline
from holodeck_backend_claude.config import Agent, EmbeddingProviderConfig
from holodeck_backend_claude.contract import ConfigError
from holodeck_backend_claude.hookspecs import BackendType
from holodeck_backend_claude.plugins import OWN_DISTRIBUTION, load_plugins
from holodeck_backend_claude.registry import Origin, Provided, Registry
from tests.support.pictures import png

Program = Callable[..., subprocess.Popen[bytes]]
REAL = "sk-ant-REAL-KEY-0123456789"
NOTHING_CALLED = "Offline: no model was called."

AGENT = """\
name: helper
model: {{provider: {provider}, name: some-model, api_key: {key}, endpoint: "{endpoint}"}}
instructions: Be kind.
"""


class Trap(socketserver.ThreadingTCPServer):
    """A server nobody should connect to."""

    daemon_threads = True
    connections = 0


class _Count(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        Trap.connections += 1


@pytest.fixture
def trap() -> Iterator[str]:
    Trap.connections = 0
    with Trap(("127.0.0.1", 0), _Count) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()
    assert Trap.connections == 0, "something was sent to the trap"


@pytest.fixture
def hostile(trap: str) -> dict[str, str]:
    """Variables that lead requests elsewhere, and real keys."""
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
    addresses = ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", "OLLAMA_HOST")
    keys = (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "OPENAI_API_KEY",
    )
    return {
        **dict.fromkeys((*names, *addresses), trap),
        **dict.fromkeys(keys, REAL),
        "CLAUDE_CODE_USE_BEDROCK": "1",
    }


def write_agent(folder: Path, provider: str, endpoint: str, extra: str = "") -> Path:
    path = folder / "agent.yaml"
    path.write_text(AGENT.format(provider=provider, key=REAL, endpoint=endpoint) + extra)
    (folder / ".env").write_text(f"ANTHROPIC_API_KEY={REAL}\nOPENAI_API_KEY={REAL}\n")
    return path


@pytest.mark.parametrize("provider", ["anthropic", "openai", "azure_openai", "ollama"])
def test_run_calls_no_model_and_leaves_loopback_with_nothing(
    provider: str, trap: str, hostile: dict[str, str], tmp_path: Path, program: Program
) -> None:
    path = write_agent(tmp_path, provider, trap)
    out, err = program("run", path, "Hello?", "--offline", "--json", **hostile).communicate()
    result = json.loads(out)
    assert result["response"] == f"{NOTHING_CALLED} The agent has no tools."
    assert result["is_error"] is False
    assert result["cost_usd"] == 0
    assert REAL not in out.decode() + err.decode()
    assert err == b""


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_an_answer_of_a_form_is_made_up_and_that_is_said(
    provider: str, trap: str, hostile: dict[str, str], tmp_path: Path, program: Program
) -> None:
    form = "{type: object, properties: {topic: {enum: [refund, repair]}}, required: [topic]}"
    path = write_agent(tmp_path, provider, trap, f"response_format: {form}\n")
    out, err = program("run", path, "My brakes?", "--offline", "--json", **hostile).communicate()
    assert json.loads(out)["structured_output"] == {"topic": "refund"}
    assert err == b"Note: offline: the answer is made up to be of the response_format\n"


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_file_is_not_looked_at_and_that_is_said(
    provider: str, trap: str, hostile: dict[str, str], tmp_path: Path, program: Program
) -> None:
    (tmp_path / "red.png").write_bytes(png())
    (tmp_path / "notes.txt").write_text("Nothing.\n")
    path = write_agent(tmp_path, provider, trap)
    files = [part for name in ("red.png", "notes.txt") for part in ("--file", tmp_path / name)]
    out, _ = program("run", path, "What is it?", "--offline", *files, **hostile).communicate()
    words = "The 2 files that were sent were not looked at. The agent has no tools."
    assert out.decode().strip() == f"{NOTHING_CALLED} {words}"


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_the_agents_own_tools_run_and_are_quoted(
    provider: str, trap: str, hostile: dict[str, str], tmp_path: Path, program: Program
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "refunds.md").write_text("# Refunds\n\nWithin 30 days of delivery.\n")
    tools = "tools: [{type: vectorstore, name: kb, description: Policies, source: docs}]\n"
    path = write_agent(
        tmp_path, provider, trap, f"{tools}embedding_provider: {{provider: openai, name: e}}\n"
    )
    out, err = program("run", path, "Refunds?", "--offline", "--json", **hostile).communicate()
    result = json.loads(out)
    assert result["response"].startswith(NOTHING_CALLED)
    assert "Within 30 days of delivery." in result["response"]
    assert [call["name"] for call in result["tool_calls"]] == ["kb_search"]
    assert b"vectors are made on this machine" in err


def test_chat_keeps_one_session(
    trap: str, hostile: dict[str, str], tmp_path: Path, program: Program
) -> None:
    path = write_agent(tmp_path, "anthropic", trap)
    out, err = program("chat", path, "--offline", **hostile).communicate(b"one\ntwo\n")
    assert out.decode().count(NOTHING_CALLED) == 2
    assert err == b""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_real_key_reaches_a_child_process(
    trap: str, hostile: dict[str, str], tmp_path: Path, program: Program
) -> None:
    path = write_agent(tmp_path, "anthropic", trap)
    process = program("chat", path, "--offline", **hostile)
    assert process.stdin
    assert process.stdout
    process.stdin.write(b"one\n")
    process.stdin.flush()
    assert NOTHING_CALLED.encode() in process.stdout.readline()
    environments = list(_environments(process.pid))
    process.communicate()
    assert environments
    assert not any(REAL.encode() in environment for environment in environments)
    assert not any(b"PROXY=" in environment for environment in environments)


def _environments(pid: int) -> Iterator[bytes]:
    for child in _below(pid):
        with contextlib.suppress(OSError):  # one that Claude Code ran for a moment only
            yield (Path("/proc") / child / "environ").read_bytes()


def _below(pid: int) -> list[str]:
    """The processes that this one started, and those that they started."""
    children = Path(f"/proc/{pid}/task").glob("*/children")
    direct = [child for file in children for child in file.read_text().split()]
    return direct + [below for child in direct for below in _below(int(child))]


class TestTheAgent:
    @pytest.fixture
    def agent(self) -> Agent:
        return Agent.model_validate(
            {
                "name": "helper",
                "model": {"provider": "anthropic", "name": "m", "auth_provider": "oauth_token"},
                "instructions": "Be kind.",
                "dotenv": {"ANTHROPIC_API_KEY": REAL, "TOOL_KEY": "kept"},
            }
        )

    async def test_is_pointed_at_the_script(self, agent: Agent) -> None:
        async with run_offline(agent, load_plugins().registry) as redirected:
            assert redirected.model.endpoint
            assert redirected.model.endpoint.startswith("http://127.0.0.1:")
            assert redirected.model.api_key
            assert REAL not in redirected.model.api_key.get_secret_value()
            assert redirected.model.auth_provider == "api_key"
            assert "ANTHROPIC_API_KEY" not in redirected.environment()
            assert redirected.environment()["TOOL_KEY"] == "kept"
            assert redirected.name == agent.name

    async def test_makes_its_vectors_locally_and_keeps_the_bought_ones(self, agent: Agent) -> None:
        bought = agent.model_copy(
            update={"embedding_provider": EmbeddingProviderConfig(provider="openai", name="e")}
        )
        async with run_offline(bought, load_plugins().registry) as redirected:
            assert redirected.embedding_provider is None
            assert redirected.name != bought.name

    async def test_has_variables_of_its_own_and_the_process_keeps_all_of_its(
        self, agent: Agent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", REAL)
        monkeypatch.setenv("WEATHER_URL", "https://weather.test")
        before = dict(os.environ)
        async with run_offline(agent, load_plugins().registry) as redirected:
            assert dict(os.environ) == before
            assert REAL not in redirected.environment().values()
            assert redirected.environment()["WEATHER_URL"] == "https://weather.test"


@pytest.mark.parametrize(
    ("backend", "distribution"),
    [("claude", "acme-claude"), ("brand-new", OWN_DISTRIBUTION)],
)
async def test_a_backend_whose_model_cannot_be_pointed_elsewhere_is_refused(
    backend: str, distribution: str
) -> None:
    provided = Provided(BackendType(backend, ("acme",), "m:f"), Origin("x", distribution, "1"))
    agent = Agent(name="a", model={"provider": "acme", "name": "m"}, instructions="Be kind.")
    with pytest.raises(ConfigError, match=rf"'{backend}' of {distribution} 1.*without --offline"):
        async with run_offline(agent, Registry(backends={backend: provided})):
            pass


@pytest.mark.parametrize(
    ("name", "leads"),
    [
        ("HTTPS_PROXY", True),
        ("no_proxy", True),
        ("ANTHROPIC_BASE_URL", True),
        ("CLAUDE_CODE_USE_VERTEX", True),
        ("OPENAI_API_KEY", True),
        ("AZURE_OPENAI_ENDPOINT", True),
        ("PATH", False),
        ("WEATHER_API_KEY", False),
    ],
)
def test_variables_of_model_clients_are_known(name: str, leads: bool) -> None:
    assert leads_elsewhere(name) is leads


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--backend", "nope"], "the backend 'nope' of the agent 'helper'; known: claude, sema"),
        (["--block-plugin", "claude"], "is blocked by --block-plugin"),
    ],
)
def test_a_backend_that_is_missing_is_named(
    options: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_agent(tmp_path, "anthropic", "https://x.test")
    assert main(["run", str(path), "Hello?", "--offline", *options]) == 2
    assert told in capsys.readouterr().err


def test_a_wrong_file_is_told_as_ever(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "agent.yaml").write_text("name: x\n")
    assert main(["run", str(tmp_path), "Hello?", "--offline"]) == 2
    assert "the key 'model' is missing" in capsys.readouterr().err
