"""The ``observability:`` block: what is refused, and what a collector's address means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from holodeck_backend_claude.config import AgentFileError, ObservabilityConfig, read_agent
from holodeck_backend_claude.config.observability import OTLPExporterConfig
from holodeck_backend_claude.plugins import load_plugins

AGENT = "name: a\nmodel: {provider: anthropic, name: m}\ninstructions: Help.\n"


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"traces": {"redaction_patterns": ["("]}}, "no regular expression"),
        ({"traces": {"max_queue_size": 1}}, "larger than"),
        ({"exporters": {"prometheus": {"enabled": True}}}, "exporters.otlp"),
        ({"exporters": {"azure_monitor": {"enabled": True}}}, "exporters.otlp"),
        ({"exporters": {"otlp": {"endpoint": "ftp://x"}}}, "use http:// or https://"),
        (
            {"exporters": {"otlp": {"endpoint": "http://x:4318/v1/traces", "protocol": "http"}}},
            "leave out '/v1/traces'",
        ),
        (
            {"exporters": {"otlp": {"endpoint": "x/otlp/v1/logs/"}}},
            "leave out '/v1/logs'",
        ),
        (
            {"exporters": {"otlp": {"endpoint": "https://x", "insecure": True}}},
            "remove 'insecure'",
        ),
        (
            {"exporters": {"otlp": {"endpoint": "http://x", "insecure": False}}},
            "remove 'insecure'",
        ),
        ({"exporters": {"console": {"color": True}}}, "color"),
    ],
)
def test_what_cannot_work_is_refused_with_the_way_out(block: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        ObservabilityConfig(**block)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ({}, "http://localhost:4317"),
        ({"protocol": "http"}, "http://localhost:4318"),
        ({"endpoint": "collector:4317"}, "http://collector:4317"),
        ({"endpoint": "collector:4317", "insecure": False}, "https://collector:4317"),
        ({"endpoint": "https://collector/otlp/"}, "https://collector/otlp"),
    ],
)
def test_the_address_of_a_collector(given: dict[str, Any], url: str) -> None:
    assert OTLPExporterConfig(**given).url == url


def test_the_console_is_used_where_nothing_else_is() -> None:
    assert ObservabilityConfig().exporters.to_console is not None
    sent: dict[str, Any] = {"otlp": {}}
    assert ObservabilityConfig(exporters=sent).exporters.to_console is None
    assert ObservabilityConfig(exporters={**sent, "console": {}}).exporters.to_console
    off = {"console": {"enabled": False}}
    assert ObservabilityConfig(exporters=off).exporters.to_console is None


def test_a_header_from_a_variable_is_read_and_never_shown(tmp_path: Path) -> None:
    block = "observability:\n  exporters:\n    otlp:\n      headers: {x-key: '${COLLECTOR_KEY}'}\n"
    (tmp_path / "agent.yaml").write_text(AGENT + block)
    environ = {"COLLECTOR_KEY": "collector-key-2f9c1e"}
    file = read_agent(tmp_path, load_plugins().registry, environ=environ)

    assert file.agent.observability is not None
    otlp = file.agent.observability.exporters.otlp
    assert otlp is not None
    assert otlp.headers["x-key"].get_secret_value() == "collector-key-2f9c1e"
    assert "2f9c1e" not in repr(file.agent)

    (tmp_path / "agent.yaml").write_text(
        AGENT + block.replace("x-key: '${COLLECTOR_KEY}'", "x-key: ['${COLLECTOR_KEY}']")
    )
    with pytest.raises(AgentFileError) as refused:
        read_agent(tmp_path, load_plugins().registry, environ=environ)
    assert "2f9c1e" not in str(refused.value)
