"""agent.yaml to a validated Agent: every block read by the model that knows it.

The tool types and the blocks of backends come from the registry; nothing here knows one by name.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from holodeck_backend_claude.config.agent_reader import Reading
from holodeck_backend_claude.config.checks import check_backend, check_programs, check_tool_names
from holodeck_backend_claude.config.models import Agent, PluginsConfig
from holodeck_backend_claude.config.problems import Problem
from holodeck_backend_claude.config.response_format import check_response_format
from holodeck_backend_claude.config.root_keys import CORE_KEYS, settings_backends, sort_root_keys
from holodeck_backend_claude.config.tool_models import ToolConfig
from holodeck_backend_claude.config.tools import read_tools
from holodeck_backend_claude.config.yaml.source import Source, read_source
from holodeck_backend_claude.contract import PluginError
from holodeck_backend_claude.import_strings import resolve

if TYPE_CHECKING:
    from holodeck_backend_claude.registry import Registry

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class AgentFile:
    """A validated agent file.

    Attributes:
        agent: What it describes.
        path: The file.
        notices: What is worth knowing about it and does not stand in the way.
    """

    agent: Agent
    path: Path
    notices: tuple[Problem, ...]


def load_agent(
    path: str | Path | Source,
    registry: Registry,
    *,
    environ: Mapping[str, str] | None = None,
    backend: str | None = None,
) -> Agent:
    """Read, check and validate an agent file; notices are logged.

    Args:
        path: The file, or the folder of an agent.yaml.
        registry: The tool types and backends that the file may use.
        environ: The variables it may refer to; None means those of the process.
        backend: Runs the agent, whatever the file says.

    Raises:
        AgentFileError: With everything that is wrong with the file.
    """
    file = read_agent(path, registry, environ=environ, backend=backend)
    for notice in file.notices:
        _log.warning("%s", notice)
    return file.agent


def read_agent(
    path: str | Path | Source,
    registry: Registry,
    *,
    environ: Mapping[str, str] | None = None,
    backend: str | None = None,
) -> AgentFile:
    """As :func:`load_agent`, with the notices returned instead of logged."""
    source = path if isinstance(path, Source) else read_source(path)
    reading = Reading.begin(source, environ)
    sort_root_keys(reading, registry)
    tools = read_tools(reading, registry)
    settings = _read_settings(reading, registry)
    agent = _read_core(reading, tools, settings)
    check_tool_names(reading)
    check_programs(reading)
    check_response_format(reading)
    check_backend(reading, registry, backend)
    reading.findings.raise_errors()
    agent = cast("Agent", agent)  # where there is none, an error says why
    notices = sorted(reading.findings.notices, key=lambda n: (n.file, n.line or 0, n.column or 0))
    if backend is not None:
        agent = agent.model_copy(update={"backend": backend})
    return AgentFile(agent, source.path, tuple(notices))


def read_plugins_block(path: str | Path | Source) -> PluginsConfig:
    """Read only ``plugins:`` of an agent file, which decides what is loaded to read the rest.

    Raises:
        AgentFileError: The file is not YAML, or the block is wrong. Anything else that is wrong
            is left to :func:`load_agent`.
    """
    source = path if isinstance(path, Source) else read_source(path)
    reading = Reading.begin(source)
    reading.findings.errors.clear()
    data = reading.data(("plugins",))
    block = PluginsConfig() if data is None else reading.validate(PluginsConfig, ("plugins",), data)
    reading.findings.raise_errors()
    return block or PluginsConfig()


def _read_settings(reading: Reading, registry: Registry) -> dict[str, BaseModel]:
    settings: dict[str, BaseModel] = {}
    for key, provided in settings_backends(registry).items():
        data = reading.data((key,))
        if data is None:
            continue
        try:
            model: type[BaseModel] = resolve(provided.value.settings)
        except PluginError as cause:
            reading.error((key,), str(cause), hint=f"this is a fault of {provided.origin}")
            continue
        reading.check_paths(model, (key,), data)
        block = reading.validate(model, (key,), data, origin=str(provided.origin))
        if block is not None:
            settings[key] = block
    return settings


def _read_core(
    reading: Reading, tools: list[ToolConfig], settings: dict[str, BaseModel]
) -> Agent | None:
    data: dict[str, Any] = {}
    for key in CORE_KEYS:
        node = reading.node((key,))
        if node is not None and (node.value is not None or Agent.model_fields[key].is_required()):
            data[key] = reading.data((key,))
    data |= {
        "tools": tuple(tools),
        "settings": settings,
        "base_dir": reading.base_dir,
        "dotenv": reading.dotenv,
    }
    reading.check_paths(Agent, (), {key: data[key] for key in CORE_KEYS if key in data})
    return reading.validate(Agent, (), data)
