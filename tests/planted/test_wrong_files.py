"""An agent file with a mistake where a secret stands: the error says the place, not the value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from holodeck_backend_claude.config import AgentFileError, read_agent

from .agents import NOWHERE, registry, written_agent
from .plants import Plants


def mistakes(secret: str) -> dict[str, Any]:
    """By the place of the mistake: what stands there instead."""
    here = {"type": "mcp", "name": "x", "description": "x", "command": "x"}
    far = {"type": "mcp", "name": "x", "description": "x", "transport": "http"}
    far["url"] = "https://x.test/"
    return {
        "model.api_key": {"is": secret},
        "model.endpoint": [secret],
        "model.provider": {secret: 1},
        "claude.env": [secret],
        "claude.env.HOME": secret,
        "claude.env.OTHER": f"{secret}\0",
        "claude.sessions": {"store": "sqlite", "url": secret},
        "claude.sessions.url": secret,
        "embedding_provider.api_key": [secret],
        "observability.exporters.otlp.headers": secret,
        "observability.exporters.otlp.headers.x-key": [secret],
        "observability.exporters.otlp.endpoint": f"ftp://user:{secret}@x.test",
        "tools.0": {**here, "env": [secret]},
        "tools.1": {**here, "env": {"A B": secret}},
        "tools.2": {**far, "url": f"ftp://user:{secret}@x.test"},
        "tools.3": {**far, "url": f"http://user:{secret}@x.test"},
        "tools.4": {**far, "headers": {"X-Key": [secret]}},
        "tools.5": {**far, "headers": {"X-Key": f"{secret}\n"}},
        "tools.6": {**far, "headers": {"X Key": secret}},
    }


def put(agent: dict[str, Any], place: str, value: object) -> None:
    if place.startswith("tools."):
        agent["tools"] = [value]
        return
    *way, key = place.split(".")
    for step in way:
        agent = agent.setdefault(step, {})
    agent[key] = value


@pytest.mark.parametrize("place", mistakes(""))
def test_a_mistake_is_told_without_the_secret(tmp_path: Path, plants: Plants, place: str) -> None:
    agent = written_agent(plants, NOWHERE)
    put(agent, place, mistakes(plants["at the wrong place"])[place])
    path = tmp_path / "agent.yaml"
    path.write_text(yaml.safe_dump(agent))
    with pytest.raises(AgentFileError) as caught:
        read_agent(path, registry())
    assert plants.found_in(str(caught.value), repr(caught.value)) == set()
