"""What is checked before a process starts, and what it is started with."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.claude.backend import ClaudeBackend
from holodeck_backend_claude.claude.options import Launch, build_options
from holodeck_backend_claude.claude.process.environment import child_environment, kept_names
from holodeck_backend_claude.claude.settings import ClaudeSettings
from holodeck_backend_claude.config import Agent, ExecutionConfig, Instructions, ModelConfig
from holodeck_backend_claude.contract import BackendInitError, BackendSessionError
from holodeck_backend_claude.registry import Registry


def agent(model: dict[str, Any] | None = None, **changes: Any) -> Agent:
    fields: dict[str, Any] = {"provider": "anthropic", "name": "m", "api_key": "sk-ant-x"}
    return Agent(
        name="a",
        model=ModelConfig(**{**fields, **(model or {})}),
        instructions=Instructions(inline="Be brief."),
        **changes,
    )


async def test_a_missing_key_is_said_with_the_ways_to_give_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(BackendInitError, match=r"ANTHROPIC_API_KEY.*model\.api_key.*--offline"):
        await ClaudeBackend(agent({"api_key": None}), Registry()).initialize()


async def test_a_key_in_the_dotenv_file_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    backend = ClaudeBackend(
        agent({"api_key": None}, dotenv={"ANTHROPIC_API_KEY": "sk-ant-y"}), Registry()
    )
    await backend.initialize()
    await backend.teardown()


async def test_settings_without_effect_are_named_once_when_set(
    caplog: pytest.LogCaptureFixture,
) -> None:
    backend = ClaudeBackend(agent({"temperature": 0.5, "top_p": 0.9}), Registry())
    with caplog.at_level(logging.WARNING):
        await backend.initialize()
    await backend.teardown()
    said = [r.getMessage() for r in caplog.records]
    assert [line.split()[0] for line in said] == ["model.temperature", "model.top_p"]


async def test_a_tool_name_in_allowed_tools_that_does_not_exist_is_an_error() -> None:
    settings = {"claude": ClaudeSettings(allowed_tools=("nothing",))}
    with pytest.raises(BackendInitError, match=r"'nothing'.*own tools are: none"):
        await ClaudeBackend(agent(settings=settings), Registry()).initialize()


async def test_a_backend_that_was_not_initialized_says_so() -> None:
    with pytest.raises(BackendSessionError, match="call initialize"):
        await ClaudeBackend(agent(), Registry()).invoke_once("Hi")


def test_the_options_grant_nothing_by_default() -> None:
    options = build_options(agent())
    assert options.tools == []
    assert options.allowed_tools == []
    assert options.setting_sources == []
    assert options.strict_mcp_config is True
    assert options.permission_mode == "dontAsk"
    assert options.mcp_servers == {}
    assert options.system_prompt == "Be brief."


def test_a_launch_does_not_show_its_environment() -> None:
    assert "sk-ant-secret" not in repr(Launch(env={"ANTHROPIC_API_KEY": "sk-ant-secret"}))


def test_limits_and_endpoint_reach_the_environment_of_the_process() -> None:
    host = {"PATH": "/bin", "SECRET": "s", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}
    chosen = agent({"max_tokens": 77}, execution=ExecutionConfig(llm_timeout=2.5, max_retries=4))
    environment = child_environment(chosen, host, Path("/private"))
    assert environment["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] == "77"
    assert environment["CLAUDE_CODE_MAX_RETRIES"] == "4"
    assert environment["API_TIMEOUT_MS"] == "2500"
    assert environment["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1"
    assert environment["PATH"] == "/bin"
    assert "SECRET" not in environment
    assert "SECRET" not in kept_names(environment)


def test_the_agents_endpoint_wins_over_the_hosts() -> None:
    chosen = agent({"endpoint": "http://127.0.0.1:2"})
    environment = child_environment(chosen, {"ANTHROPIC_BASE_URL": "x"}, Path("/private"))
    assert environment["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:2"


def test_an_oauth_token_is_passed_under_its_own_name_and_alone() -> None:
    chosen = agent({"api_key": None, "auth_provider": "oauth_token"})
    host = {"CLAUDE_CODE_OAUTH_TOKEN": "tok", "ANTHROPIC_API_KEY": "sk-ant-other"}
    environment = child_environment(chosen, host, Path("/private"))
    assert environment["CLAUDE_CODE_OAUTH_TOKEN"] == "tok"
    assert "ANTHROPIC_API_KEY" not in environment
