"""No text that leaves has a secret, whoever quotes it: results, errors, the log, telemetry."""

from __future__ import annotations

import gc
import json
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.config import MCPTool, VectorstoreTool
from holodeck_backend_claude.contract import ToolCall
from holodeck_backend_claude.plugins import load_plugins
from holodeck_backend_claude.testing import Failure, call_tool, fail, forever, say
from tests.e2e import lab as claude
from tests.sk import lab as sk
from tests.support.otlp import OTLPReceiver
from tests.support.postgres import PostgresServer
from tests.support.probes import Probe

from .agents import mcp_server
from .plants import Plants
from .refusing import refusing
from .search import Search

# Where mcp 1.26 cannot connect, it leaves streams of its own to the garbage collector.
pytestmark = (
    [
        pytest.mark.filterwarnings(
            "ignore:Exception ignored in.*MemoryObject:pytest.PytestUnraisableExceptionWarning"
        )
    ]
    if version("mcp") < "1.30"
    else []
)

# Claude Code does not mask what it sends of itself; with patterns it is not asked to send content.
NATIVE = {
    "settings": {"native_mcp": True},
    "traces": {"capture_content": True, "redaction_patterns": ["x{99}"]},
}
both_ways = pytest.mark.parametrize("said", [{}, NATIVE], ids=["", "native_mcp"])


@pytest.fixture
async def receiver() -> AsyncIterator[OTLPReceiver]:
    async with OTLPReceiver() as receiver:
        yield receiver


@pytest.fixture
def search(
    lab: claude.Lab, plants: Plants, receiver: OTLPReceiver, caplog: pytest.LogCaptureFixture
) -> Search[claude.Lab]:
    caplog.set_level(logging.DEBUG)
    return Search(lab, plants, receiver, caplog)


def quoting(plants: Plants) -> Probe:
    def fall(_call: ToolCall) -> Any:
        raise RuntimeError(f"no entry with {plants.quoted()}")

    return Probe("kb", fall)


@pytest.mark.parametrize("status", [400, 401])
async def test_a_tool_and_an_api_quote_everything(search: Search[claude.Lab], status: int) -> None:
    def refuse(_request: Any) -> Failure:
        return fail(status, f"no access with {search.plants.quoted()}")

    server = mcp_server(search.plants, search.lab.folder)
    calls = [call_tool("kb", {"query": "x"}), call_tool("mcp__desk__fail", {})]
    api = await search.lab.api([*calls, forever(refuse)])
    await search.run(
        search.reached_at(api.url), quoting(search.plants), tools=(server,), traces=NATIVE["traces"]
    )
    assert search.heard("no entry with")
    assert search.heard("no such thing")
    assert search.heard("no access with" if status == 400 else "authentication failed")
    assert search.plants.found_in(*(json.dumps(request.body) for request in api.requests)) == set()
    assert search.leaks() == {}


@both_ways
async def test_an_mcp_server_quotes_its_own_and_dies(
    search: Search[claude.Lab], said: dict[str, Any]
) -> None:
    server = mcp_server(search.plants, search.lab.folder, exit=3)
    api = await search.lab.api([say("ok")])
    await search.run(search.reached_at(api.url), tools=(server,), **said)
    assert search.heard("MCP server failed: desk")
    assert search.leaks() == {}


@both_ways
async def test_an_mcp_server_quotes_its_own_in_a_call(
    search: Search[claude.Lab], said: dict[str, Any]
) -> None:
    server = mcp_server(search.plants, search.lab.folder)
    names = ("fail", "refuse") if said else ("fail", "refuse", "die")
    said = {**said, "observability": None} if said else {}  # the end of both is waited for
    calls = [call_tool(f"mcp__desk__{name}", {}) for name in names]
    api = await search.lab.api([*calls, say("ok")])
    await search.run(search.reached_at(api.url), tools=(server,), **said)
    assert search.heard("that is not allowed")
    assert search.heard("ended with exit code 3") or said
    assert search.leaks() == {}


@pytest.mark.parametrize(
    ("transport", "status", "said"),
    [
        ("http", 401, {}),
        ("http", 302, {}),
        ("sse", 401, {}),
        ("websocket", 401, {}),
        ("http", 401, NATIVE),
    ],
)
async def test_an_mcp_server_of_the_network_quotes_the_headers(
    search: Search[claude.Lab], transport: str, status: int, said: dict[str, Any]
) -> None:
    async with refusing(status) as server:
        url = server.url.replace("http://", "ws://") if transport == "websocket" else server.url
        far = MCPTool.model_validate(
            {
                "name": "far",
                "description": "A server.",
                "transport": transport,
                "url": search.plants.into(url, "far: password"),
                "headers": {"X-Api-Key": search.plants["far: header"]},
            }
        )
        api = await search.lab.api([say("ok")])
        await search.run(search.reached_at(api.url), tools=(far,), **said)
        assert "far: header" in search.plants.found_in(*server.heard)
    assert search.heard("MCP server failed: far")
    assert search.leaks() == {}
    gc.collect()  # what mcp left is this test's


@pytest.mark.parametrize("address", ["refuses", "dead", "malformed"])
async def test_the_store_of_conversations_is_of_no_use(
    search: Search[claude.Lab], postgres: PostgresServer, address: str
) -> None:
    port = {"refuses": str(postgres.port), "dead": "9", "malformed": "9/%zz"}[address]
    url = search.plants.into(f"postgresql://127.0.0.1:{port}/none", "store: password")
    api = await search.lab.api([say("ok")])
    settings = {"sessions": {"store": "postgres", "url": url}}
    await search.run(search.reached_at(api.url), settings=settings)
    assert search.heard("no address" if address == "malformed" else "session store")
    assert search.leaks() == {}


async def test_a_collector_quotes_the_headers(search: Search[claude.Lab]) -> None:
    api = await search.lab.api([say("ok")])
    async with refusing() as server:
        await search.run(search.reached_at(api.url), collector=server.url)
        assert "collector: header" in search.plants.found_in(*server.heard)
    assert "do not reach" in search.caplog.text
    assert search.leaks() == {}


async def test_on_semantic_kernel_tool_api_and_embeddings_quote_everything(
    tmp_path: Path, plants: Plants, receiver: OTLPReceiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    (tmp_path / "notes.md").write_text("# Notes\n\nMilk is bought on Mondays.\n")
    async with AsyncExitStack() as stack:
        search = Search(sk.Lab(tmp_path, stack), plants, receiver, caplog)
        gateway = await stack.enter_async_context(refusing(reason=False))
        notes = VectorstoreTool(name="notes", description="Notes.", source="notes.md")
        calls = [call_tool("kb", {"query": "x"}), call_tool("notes", {"query": "milk"})]
        refuse = forever(lambda _request: fail(401, f"no access with {plants.quoted()}"))
        api = await search.lab.api([*calls, refuse])
        said = {"tools": (notes,), "embeddings": gateway.url, "settings": None}
        await search.run(search.reached_at(api.base_url), quoting(plants), **said)
        assert plants.found_in(*gateway.heard) == {"embeddings: password"}  # before the key
    assert plants.found_in(*(json.dumps(request.body) for request in api.requests)) == set()
    assert search.leaks() == {}
    written = [path for path in (tmp_path / ".holodeck").rglob("*") if path.is_file()]
    assert written
    assert plants.found_in(*(path.read_text(errors="replace") for path in written)) == set()


def test_a_plugin_quotes_a_variable_when_it_is_imported(
    tmp_path: Path,
    plants: Plants,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("SOME_TOKEN", plants["a variable"])
    monkeypatch.syspath_prepend(tmp_path)
    info = tmp_path / "quoting-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: quoting\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[holodeck]\nquoting = quoting_plugin\n")
    fall = "import os\nraise RuntimeError('no entry with ' + os.environ['SOME_TOKEN'])\n"
    (tmp_path / "quoting_plugin.py").write_text(fall)
    loaded = load_plugins()
    assert "no entry with" in caplog.text
    assert plants.found_in(caplog.text, repr(loaded)) == set()
