"""``holodeck-claude validate``: everything that is wrong with an agent file, without running it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holodeck_backend_claude.cli.agents import AGENT_ARGUMENT, read_file
from holodeck_backend_claude.contract import ConfigError

if TYPE_CHECKING:
    from holodeck_backend_claude.config import AgentFile

EXIT_INVALID = 2


@click.command("validate")
@AGENT_ARGUMENT
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
@click.pass_context
def command(context: click.Context, agent_file: Path, *, as_json: bool) -> int:
    """Check an agent file without running it.

    AGENT.YAML is a file, or a folder with an agent.yaml. Everything that is wrong is listed at
    once, each with file, line and column. Nothing is opened, and no model is called.
    """
    if not as_json:
        file, _registry = read_file(context, agent_file)
        click.echo(_summary(file))
        return 0
    try:
        file, _registry = read_file(context, agent_file)
    except ConfigError as error:
        click.echo(json.dumps(_failure(error, agent_file), indent=2))
        return EXIT_INVALID
    click.echo(json.dumps(_success(file), indent=2))
    return 0


def _summary(file: AgentFile) -> str:
    from holodeck_backend_claude.chat.printable import on_one_line

    agent = file.agent
    tools = ", ".join(f"{tool.name} ({tool.type})" for tool in agent.tools) or "none"
    lines = [
        f"{file.path} is valid",
        f"  agent: {agent.name}{f' ({agent.description})' if agent.description else ''}",
        f"  model: {agent.model.name} ({agent.model.provider})",
        f"  tools: {tools}",
        *(f"Note: {notice}" for notice in file.notices),
    ]
    return "\n".join(map(on_one_line, lines))


def _success(file: AgentFile) -> dict[str, Any]:
    return {
        "valid": True,
        "file": str(file.path),
        "problems": [],
        "notices": [notice.to_dict() for notice in file.notices],
    }


def _failure(error: ConfigError, path: Path) -> dict[str, Any]:
    from holodeck_backend_claude.config import AgentFileError, Problem

    problems = (
        error.problems
        if isinstance(error, AgentFileError)
        else (Problem(str(path), None, None, "", str(error)),)
    )
    return {
        "valid": False,
        "file": str(path),
        "problems": [problem.to_dict() for problem in problems],
        "notices": [],
    }
