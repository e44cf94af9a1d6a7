"""The agent that a command works on: read, with what there is to know about it on stderr."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holodeck_backend_claude.cli.options import common_options

if TYPE_CHECKING:
    from holodeck_backend_claude.config import Agent, AgentFile
    from holodeck_backend_claude.contract import AgentBackend, AskPermission
    from holodeck_backend_claude.registry import Registry

AGENT_ARGUMENT = click.argument("agent_file", metavar="AGENT.YAML", type=click.Path(path_type=Path))
BACKEND_OPTION = click.option(
    "--backend", metavar="NAME", help="Run on this backend, whatever the agent file says."
)
OFFLINE_OPTION = click.option(
    "--offline",
    is_flag=True,
    help="Call no model: a scripted one on this machine calls the tools and quotes them.",
)


def read_file(
    context: click.Context, path: Path, *, backend: str | None = None
) -> tuple[AgentFile, Registry]:
    """Read an agent file with the plugins that it and the command line allow.

    Raises:
        ConfigError: The file is missing or wrong.
    """
    from holodeck_backend_claude.opening import read_agent_file

    options = common_options(context)
    return read_agent_file(
        path, lambda block: options.load_plugins(block).registry, backend=backend
    )


def read_for_running(
    context: click.Context, path: Path, *, backend: str | None = None
) -> tuple[Agent, Registry]:
    """As :func:`read_file`, for a command that shows notices on stderr and goes on."""
    file, registry = read_file(context, path, backend=backend)
    for notice in file.notices:
        tell(str(notice))
    return file.agent, registry


@asynccontextmanager
async def running(
    agent: Agent,
    registry: Registry,
    *,
    offline: bool,
    ask_permission: AskPermission | None = None,
    side_effects: bool = True,
) -> AsyncIterator[AgentBackend]:
    """Open an agent for as long as the block lasts, its model scripted where it is offline."""
    from holodeck_backend_claude.cli.offline import replaces_embeddings, run_offline
    from holodeck_backend_claude.cli.progress import progress_line
    from holodeck_backend_claude.opening import open_agent

    async with AsyncExitStack() as stack:
        if offline:
            if replaces_embeddings(agent):
                tell("offline: vectors are made on this machine, not by the embedding_provider")
            if agent.response_format is not None:
                tell("offline: the answer is made up to be of the response_format")
            agent = await stack.enter_async_context(run_offline(agent, registry))
        with progress_line() as progress:
            backend = await stack.enter_async_context(
                open_agent(
                    agent,
                    registry=registry,
                    progress=progress,
                    ask_permission=ask_permission,
                    side_effects=side_effects,
                )
            )
        yield backend


def tell(text: str) -> None:
    """Something to know, on stderr."""
    from holodeck_backend_claude.chat.printable import without_controls

    click.secho("Note: ", fg="yellow", nl=False, err=True)
    click.echo(without_controls(text), err=True)
