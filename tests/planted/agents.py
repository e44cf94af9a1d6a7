"""An agent with a secret in every place of agent.yaml that can hold one."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from holodeck_backend_claude.config import EmbeddingProviderConfig, MCPTool, ObservabilityConfig
from holodeck_backend_claude.plugins import load_plugins
from holodeck_backend_claude.registry import Registry
from tests.support.probes import Probe, registry_of

from .plants import Plants

NOWHERE = "http://127.0.0.1:9"
LOGGERS = (
    "holodeck_backend_claude", "claude_agent_sdk", "mcp", "httpx", "semantic_kernel", "openai",
)  # fmt: skip
_RAW_SERVER = Path(__file__).parents[1] / "support" / "mcp_raw_server.py"
_QUOTED = ("OWN_TOKEN", "FILE_TOKEN", "PGPASSWORD", "DATABASE_URL", "MCP_CONFIG")


def mcp_server(plants: Plants, folder: Path, name: str = "desk", **said: Any) -> MCPTool:
    """An MCP server of the standard library that quotes its own secrets where anything fails.

    Args:
        plants: What it is given: variables, those of a file, and a ``config``.
        folder: Of agent.yaml.
        name: The server's.
        said: What else it does, see ``mcp_raw_server.py``.
    """
    file = folder / f"{name}.env"
    file.write_text(f"FILE_TOKEN={plants[f'{name}: file']}\n")
    told = {"name": name, "quotes": [*_QUOTED], **said}
    return MCPTool(
        name=name,
        description="A server.",
        command=sys.executable,
        args=("-I", "-S", str(_RAW_SERVER), json.dumps(told)),
        env={
            "OWN_TOKEN": plants[f"{name}: env"],
            "PGPASSWORD": plants[f"{name}: password"],
            "DATABASE_URL": plants.into("redis://host.test/1", f"{name}: URL"),
        },
        env_file=file.name,
        config={"stores": [{"apiKey": plants[f"{name}: config"]}]},
    )


def everything(
    plants: Plants,
    *,
    collector: str = NOWHERE,
    embeddings: str = NOWHERE,
    settings: Mapping[str, Any] | None = None,
    traces: Mapping[str, Any] = MappingProxyType({"capture_content": True}),
    **fields: Any,
) -> dict[str, Any]:
    """What an agent says beside its model, for ``Lab.agent``.

    Args:
        plants: What it says of secrets.
        collector: Where its telemetry goes.
        embeddings: Where its vectors are made.
        settings: Further keys of ``claude:``; None for an agent of another backend.
        traces: Its ``observability.traces``.
        fields: Anything else of it.
    """
    otlp = {
        "protocol": "http",
        "endpoint": plants.into(collector, "collector: password"),
        "headers": {"x-api-key": plants["collector: header"]},
        "timeout_ms": 1_000,
    }
    own = {} if settings is None else {"env": {"OF_CLAUDE": plants["claude.env"]}, **settings}
    return {
        "settings": own,
        "embedding_provider": EmbeddingProviderConfig(
            provider="openai",
            name="small",
            api_key=plants["embeddings: key"],
            endpoint=plants.into(embeddings, "embeddings: password"),
        ),
        "observability": ObservabilityConfig(
            enabled=True,
            exporters={"otlp": otlp},
            traces=dict(traces),
            logs={"level": "DEBUG", "filter_namespaces": LOGGERS},
        ),
        **fields,
    }


def registry(*probes: Probe) -> Registry:
    """The tool types of this package, and that of these probes."""
    known = load_plugins().registry
    return replace(known, tool_types={**known.tool_types, **registry_of(*probes).tool_types})


def written_agent(plants: Plants, url: str, collector: str = NOWHERE) -> dict[str, Any]:
    """What an agent.yaml says that has a secret in each place but those of tools.

    Args:
        plants: The secrets.
        url: Where its model is reached.
        collector: Where its telemetry goes.
    """
    return {
        "name": "helper",
        "model": {
            "provider": "anthropic",
            "name": "claude-sonnet-4-5",
            "api_key": plants["model: key"],
            "endpoint": plants.into(url, "model: password of the endpoint"),
        },
        "instructions": "Be kind.",
        "execution": {"max_retries": 0, "llm_timeout": 20},
        "embedding_provider": {
            "provider": "openai",
            "api_key": plants["embeddings: key"],
            "endpoint": plants.into(NOWHERE, "embeddings: password"),
        },
        "claude": {"env": {"OF_CLAUDE": plants["claude.env"]}},
        "observability": {
            "enabled": True,
            "traces": {"capture_content": True},
            "exporters": {
                "console": {"enabled": True},
                "otlp": {
                    "protocol": "http",
                    "endpoint": plants.into(collector, "collector: password"),
                    "headers": {"x-api-key": plants["collector: header"]},
                    "timeout_ms": 1_000,
                },
            },
        },
    }
