"""A secret that YAML takes for something else is refused, and not shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from holodeck_backend_claude.config import AgentFileError, read_agent
from holodeck_backend_claude.registry import Registry


@pytest.mark.parametrize("value", ["!MYSECRET x", "*MYSECRET", "&MYSECRET", "&MYSECRET ~x: y"])
def test_a_key_that_yaml_reads_as_markup_is_refused_unseen(
    tmp_path: Path, registry: Registry, value: str
) -> None:
    path = tmp_path / "agent.yaml"
    path.write_text(
        f"name: a\nmodel:\n  provider: openai\n  name: m\n  api_key: {value}\n"
        "instructions: {inline: Answer.}\n"
    )
    with pytest.raises(AgentFileError) as caught:
        read_agent(path, registry)
    assert "MYSECRET" not in str(caught.value)
    assert ":5:" in str(caught.value)
