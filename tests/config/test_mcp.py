"""``type: mcp`` in an agent file: what it may say for which transport."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from holodeck_backend_claude.config import MCPTool, read_agent
from holodeck_backend_claude.plugins import load_plugins


def server(**keys: Any) -> MCPTool:
    return MCPTool.model_validate({"name": "s", "description": "A server.", **keys})


def refusal(**keys: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        server(**keys)
    (error,) = caught.value.errors()
    return error["msg"].removeprefix("Value error, ")


REMOTE = {"transport": "http", "url": "https://example.test/mcp"}


@pytest.mark.parametrize("command", ["npx", "uvx", "docker", "python3", "./server", "/opt/x/y"])
def test_any_program_may_be_the_server(command: str) -> None:
    assert server(command=command).command == command


def test_stdio_needs_a_command_and_the_others_a_url() -> None:
    assert refusal() == "the transport stdio needs 'command'"
    for transport in ("sse", "http", "websocket"):
        assert refusal(transport=transport) == f"the transport {transport} needs 'url'"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("command", "npx"), ("args", ["-y"]), ("env", {"A": "b"}), ("env_file", ".env"),
        ("encoding", "utf-8"), ("config", {"a": 1}),
    ],
)  # fmt: skip
def test_keys_of_stdio_are_refused_elsewhere(key: str, value: Any) -> None:
    assert f"'{key}' belongs to the transport stdio, not to http" in refusal(
        **REMOTE, **{key: value}
    )


@pytest.mark.parametrize(
    ("key", "value", "where"),
    [
        ("url", "https://example.test", "sse or http or websocket"),
        ("headers", {"A": "b"}, "sse or http or websocket"),
        ("sse_read_timeout", 5, "sse or http"),
        ("terminate_on_close", False, "http"),
    ],
)
def test_keys_of_servers_elsewhere_are_refused_with_stdio(key: str, value: Any, where: str) -> None:
    told = refusal(command="npx", **{key: value})
    assert told.startswith(f"'{key}' belongs to the transport {where}, not to stdio")


def test_terminate_on_close_and_sse_read_timeout_where_they_mean_something() -> None:
    sse = {"transport": "sse", "url": "https://example.test/sse"}
    socket = {"transport": "websocket", "url": "wss://example.test/ws"}
    assert server(**sse, sse_read_timeout=5).sse_read_timeout == 5
    assert "belongs to the transport http, not to sse" in refusal(**sse, terminate_on_close=True)
    assert "sse or http, not to websocket" in refusal(**socket, sse_read_timeout=5)


@pytest.mark.parametrize(
    ("transport", "url"),
    [
        ("http", "http://localhost:8000/mcp"), ("http", "http://127.0.0.1/mcp"),
        ("sse", "http://[::1]:8000/sse"), ("websocket", "ws://127.0.0.1:9/ws"),
        ("websocket", "wss://example.test"), ("sse", "https://example.test/sse"),
    ],
)  # fmt: skip
def test_urls(transport: str, url: str) -> None:
    assert server(transport=transport, url=url).url == url


@pytest.mark.parametrize(
    ("transport", "url", "says"),
    [
        ("http", "http://example.test/mcp", "without encryption; use https://"),
        ("http", "http://127.0.0.1.example.test/", "without encryption"),
        ("websocket", "ws://example.test", "without encryption; use wss://"),
        ("websocket", "https://example.test", "has to begin with wss://"),
        ("sse", "wss://example.test", "has to begin with https://"),
        ("http", "example.test/mcp", "has to begin with https://"),
        ("http", "https:///mcp", "has to begin with https://"),
    ],
)
def test_urls_that_are_refused(transport: str, url: str, says: str) -> None:
    assert says in refusal(transport=transport, url=url)


def test_an_encoding_is_one_of_text() -> None:
    assert server(command="x", encoding="Latin1").encoding == "iso8859-1"
    for name in ("klingon", "base64", "rot13"):
        assert f"'{name}' is no encoding of text" in refusal(command="x", encoding=name)


def test_a_header_that_cannot_be_sent_is_named_and_not_shown() -> None:
    told = refusal(**REMOTE, headers={"X-Token": "secret\nInjected: 1"})
    assert "'X-Token' cannot be sent" in told
    assert "secret" not in told


def test_names_of_variables_and_headers_are_checked() -> None:
    for key, value in (("env", {"A B": "c"}), ("env", {"A=B": "c"})):
        with pytest.raises(ValidationError):
            server(command="x", **{key: value})
    with pytest.raises(ValidationError):
        server(**REMOTE, headers={"A: B": "c"})


def test_a_server_of_which_nothing_is_loaded_is_refused() -> None:
    assert "nothing of the server is left" in refusal(command="x", load_tools=False)
    assert server(command="x", load_tools=False, load_prompts=True).load_prompts


def test_values_of_variables_and_headers_are_not_shown() -> None:
    shown = repr(server(command="x", env={"TOKEN": "tops3cret"}, config={"key": "tops3cret"}))
    assert "tops3cret" not in shown
    assert "tops3cret" not in repr(server(**REMOTE, headers={"X": "tops3cret"}))


def test_a_server_whose_program_is_not_here_is_a_notice_at_its_place(tmp_path: Path) -> None:
    said = ["command: pyton3", "command: sh", "command: pyton3, optional: true", "command: ./x"]
    tools = [
        f"- {{type: mcp, name: m{n}, description: d, {words}}}" for n, words in enumerate(said)
    ]
    path = tmp_path / "agent.yaml"
    path.write_text(
        "name: a\nmodel: {provider: anthropic, name: m}\ninstructions: Hi\ntools:\n"
        + "\n".join(tools)
    )
    (notice,) = read_agent(path, load_plugins().registry, environ={}).notices
    assert (notice.line, notice.path) == (5, "tools[0].command")
    assert "there is no program 'pyton3' on PATH here" in notice.message
