"""``holodeck-claude chat``: turn after turn with an agent, in one live session."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holodeck_backend_claude.cli.agents import (
    AGENT_ARGUMENT,
    BACKEND_OPTION,
    OFFLINE_OPTION,
    read_for_running,
    running,
)
from holodeck_backend_claude.cli.resuming import ChatBeginning, beginning
from holodeck_backend_claude.contract import BackendSessionError

if TYPE_CHECKING:
    from holodeck_backend_claude.chat import LiveSession, TurnDisplay
    from holodeck_backend_claude.config import Agent
    from holodeck_backend_claude.contract import AgentSession, AskPermission
    from holodeck_backend_claude.registry import Registry

EXIT_TURN_FAILED = 1


@click.command("chat")
@AGENT_ARGUMENT
@OFFLINE_OPTION
@BACKEND_OPTION
@click.option(
    "--resume",
    metavar="ID",
    help="Go on with a stored conversation: its id, or 'last' for the one used last.",
)
@click.option("--fork", is_flag=True, help="With --resume: leave that conversation as it is.")
@click.pass_context
def command(
    context: click.Context,
    agent_file: Path,
    *,
    offline: bool,
    backend: str | None,
    resume: str | None,
    fork: bool,
) -> int:
    """Talk with an agent in one live session.

    AGENT.YAML is a file, or a folder with an agent.yaml. Each line is a turn; Ctrl-C stops an
    answer, Ctrl-D or /exit ends the chat. Lines can also come from a pipe: the answers then go to
    stdout and everything else to stderr. Where the agent stores its conversations, the last line
    says how to go on with this one. On a terminal you are asked before a tool does what the
    agent file does not let it do without asking.

    Exit codes: 0 the chat ended, 1 the session broke off, or a turn of a pipe failed,
    2 configuration or credentials.
    """
    from holodeck_backend_claude.chat import LiveSession, TurnDisplay
    from holodeck_backend_claude.chat.printable import on_one_line
    from holodeck_backend_claude.cli.chat_signals import ended_by_signals

    if sys.stdin is None:
        raise click.UsageError("stdin is closed; a chat reads its messages from it")
    if fork and resume is None:
        raise click.UsageError("--fork needs --resume: the conversation to begin with")
    agent, registry = read_for_running(context, agent_file, backend=backend)
    begin = beginning(agent, registry, resume=resume, fork=fork)
    display = TurnDisplay(sys.stdout, sys.stderr)
    attended = sys.stdin.isatty() and sys.stderr.isatty()
    live = LiveSession(
        lambda: _session(
            agent, registry, begin, offline=offline, ask=live.ask if attended else None
        )
    )
    try:
        with ended_by_signals(live), live:
            if sys.stdin.isatty():
                name = on_one_line(f"{agent.name} ({agent.model.name})")
                click.secho(f"{name}. {_HELP}", dim=True, err=True)
            return _converse(live, display, begin)
    finally:  # only now it is known whether the end is stored
        begin.tell_how_to_go_on(agent_file)


_HELP = "Ctrl-C stops an answer, Ctrl-D or /exit ends the chat."


@asynccontextmanager
async def _session(
    agent: Agent,
    registry: Registry,
    begin: ChatBeginning,
    *,
    offline: bool,
    ask: AskPermission | None,
) -> AsyncIterator[AgentSession]:
    async with running(agent, registry, offline=offline, ask_permission=ask) as backend:
        session = await begin.session(backend)
        try:
            yield session
        finally:
            try:
                await session.close()
            finally:
                begin.closed(session)


def _converse(live: LiveSession, display: TurnDisplay, begin: ChatBeginning) -> int:
    from holodeck_backend_claude.chat import (
        Interrupts,
        PermissionPrompt,
        TurnStoppedError,
        read_messages,
    )
    from holodeck_backend_claude.cli.chat_signals import TurnStop

    failed = False
    with Interrupts(TurnStop(live)) as interrupts:
        prompt = PermissionPrompt(interrupts, sys.stderr, display.begin_line)
        for message in read_messages(interrupts):
            try:
                with redirect_stdout(sys.stderr):  # what a tool prints is no part of an answer
                    result = live.send(message, display.show, prompt)
                begin.session_id = result.session_id or begin.session_id
                failed |= result.is_error
            except TurnStoppedError:
                display.stopped()
            except BackendSessionError as error:
                display.error(str(error))
                return EXIT_TURN_FAILED
    return EXIT_TURN_FAILED if failed and not sys.stdin.isatty() else 0
