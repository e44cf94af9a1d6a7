"""The variables of a server that runs as a process of ours: few of the host, and its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp.client.stdio import get_default_environment

from holodeck_backend_claude.config.dotenv import read_variables
from holodeck_backend_claude.contract import BackendInitError
from holodeck_backend_claude.redaction import is_secret_name, passwords_in, remember_secrets

if TYPE_CHECKING:
    from pydantic import SecretStr

    from holodeck_backend_claude.config import MCPTool

CONFIG_VARIABLE = "MCP_CONFIG"


def server_environment(config: MCPTool, base_dir: Path) -> dict[str, str]:
    """All variables of the server's process.

    Of the host it gets what mcp's own client gives one: HOME, LOGNAME, PATH, SHELL, TERM and USER.

    Args:
        config: The server.
        base_dir: Where the path of ``env_file`` starts.

    Raises:
        BackendInitError: ``env_file`` cannot be read.
    """
    return get_default_environment() | own_variables(config, base_dir)


def own_variables(config: MCPTool, base_dir: Path) -> dict[str, str]:
    """The variables that agent.yaml gives the server; secret ones are masked from now on.

    Raises:
        BackendInitError: ``env_file`` cannot be read.
    """
    variables = _of_file(config, base_dir) | _revealed(config.env)
    if config.config:
        variables[CONFIG_VARIABLE] = json.dumps(config.config)
    remember_secrets(_secrets_in({**variables, CONFIG_VARIABLE: config.config}))
    return variables


def own_headers(config: MCPTool) -> dict[str, str]:
    """The headers that agent.yaml gives the server.

    Those that are secret are masked from now on, and so is a password in its address.
    """
    remember_secrets(passwords_in(config.url))
    headers = _revealed(config.headers)
    for name, value in headers.items():
        if is_secret_name(name) or name.lower() in {"cookie", "proxy-authorization"}:
            remember_secrets([value, value.rpartition(" ")[2]])  # after "Bearer "
    return headers


def _secrets_in(said: Mapping[str, Any]) -> Iterator[str]:
    """The values under names of secrets, however deep, and passwords in addresses."""
    for name, value in said.items():
        match value:
            case str() if is_secret_name(name):
                yield value
            case str():
                yield from passwords_in(value)
            case Mapping():
                yield from _secrets_in(value)
            case list():
                yield from _secrets_in({f"{name} {i}": item for i, item in enumerate(value)})


def _revealed(values: Mapping[str, SecretStr | str] | None) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else value.get_secret_value()
        for name, value in (values or {}).items()
    }


def _of_file(config: MCPTool, base_dir: Path) -> dict[str, str]:
    if config.env_file is None:
        return {}
    variables, findings = read_variables(base_dir / config.env_file)
    problems = [problem.message for problem in (*findings.errors, *findings.notices)]
    if problems:
        raise BackendInitError(f"env_file '{config.env_file}': {'; '.join(problems)}")
    return variables
