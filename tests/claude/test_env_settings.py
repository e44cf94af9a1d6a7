"""``claude.env`` in agent.yaml: what it may name, and that no value of it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from holodeck_backend_claude.claude.settings import ClaudeSettings
from holodeck_backend_claude.claude.settings.environment import values_of
from holodeck_backend_claude.config import AgentFileError, load_agent
from holodeck_backend_claude.plugins import load_plugins

AGENT = """\
name: helper
model: {provider: anthropic, name: m, api_key: k}
instructions: Be kind.
claude:
  env:
"""


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("HOME", "private folders"),
        ("TMPDIR", "private folders"),
        ("CLAUDE_CONFIG_DIR", "keys of its own"),
        ("CLAUDE_CODE_USE_BEDROCK", "keys of its own"),
        ("CLAUDECODE", "keys of its own"),
        ("ANTHROPIC_API_KEY", r"model\.api_key"),
        ("ANTHROPIC_BASE_URL", r"model\.endpoint"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "observability"),
        ("LD_PRELOAD", "nobody granted"),
        ("DYLD_INSERT_LIBRARIES", "nobody granted"),
        ("NODE_OPTIONS", "nobody granted"),
        ("BUN_OPTIONS", "nobody granted"),
        ("BASH_ENV", "nobody granted"),
        ("BASH_FUNC_ls%%", "letters, digits"),
        ("NODE_TLS_REJECT_UNAUTHORIZED", "NODE_EXTRA_CA_CERTS"),
        ("A=B", "letters, digits"),
        ("1A", "letters, digits"),
        ("", "letters, digits"),
    ],
)
def test_a_name_that_is_not_its_to_set_is_refused_with_the_reason(name: str, why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        ClaudeSettings.model_validate({"env": {name: "x"}})


def test_values_are_hidden_and_given_to_the_process_in_the_clear() -> None:
    settings = ClaudeSettings.model_validate({"env": {"TEAM": "orders-team", "A_1": ""}})
    assert "orders-team" not in repr(settings)
    assert values_of(settings.env) == {"TEAM": "orders-team", "A_1": ""}


def test_a_zero_byte_is_refused() -> None:
    with pytest.raises(ValidationError, match="zero byte"):
        ClaudeSettings.model_validate({"env": {"A": "x\0y"}})


def test_a_value_may_come_from_the_environment(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text(AGENT + "    TEAM: ${TEAM_OF_HOST}-1\n")
    agent = load_agent(tmp_path, load_plugins().registry, environ={"TEAM_OF_HOST": "orders"})
    assert values_of(agent.settings_for("claude", ClaudeSettings).env) == {"TEAM": "orders-1"}


@pytest.mark.parametrize("wrong", ["PORT: 8080", "HOME: secret-value-1", "A: [secret-value-1]"])
def test_what_is_wrong_is_said_with_its_place_and_without_the_value(
    tmp_path: Path, wrong: str
) -> None:
    (tmp_path / "agent.yaml").write_text(f"{AGENT}    {wrong}\n")
    with pytest.raises(AgentFileError, match=r"agent\.yaml:6:") as caught:
        load_agent(tmp_path, load_plugins().registry, environ={})
    assert "secret-value-1" not in str(caught.value)
