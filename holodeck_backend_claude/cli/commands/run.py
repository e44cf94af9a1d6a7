"""``holodeck-claude run``: one question, one answer."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holodeck_backend_claude.cli.agents import (
    AGENT_ARGUMENT,
    BACKEND_OPTION,
    OFFLINE_OPTION,
    read_for_running,
    running,
    tell,
)

if TYPE_CHECKING:
    from holodeck_backend_claude.config import Agent
    from holodeck_backend_claude.contract import ExecutionResult, InputFile
    from holodeck_backend_claude.registry import Registry

EXIT_RUN_FAILED = 1


@click.command("run")
@AGENT_ARGUMENT
@click.argument("question", nargs=-1)
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Send this image, PDF or text along; may be given several times.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as JSON.")
@click.option(
    "--no-side-effects",
    is_flag=True,
    help="Deny every tool call that changes something.",
)
@OFFLINE_OPTION
@BACKEND_OPTION
@click.pass_context
def command(  # noqa: PLR0913  # one for each option
    context: click.Context,
    agent_file: Path,
    question: tuple[str, ...],
    *,
    files: tuple[Path, ...],
    as_json: bool,
    no_side_effects: bool,
    offline: bool,
    backend: str | None,
) -> int:
    """Ask an agent one question and print its answer.

    AGENT.YAML is a file, or a folder with an agent.yaml. Without QUESTION, or with "-", the
    question is read from stdin. The answer goes to stdout, everything else to stderr.

    Exit codes: 0 the agent answered, 1 the run failed, 2 configuration or credentials.
    """
    from holodeck_backend_claude.cli.signals import run_to_end

    asked = _question(" ".join(question) if question else None)
    sent = _read(files)
    agent, registry = read_for_running(context, agent_file, backend=backend)
    with redirect_stdout(sys.stderr):  # what a tool prints is no part of the answer
        result = run_to_end(
            _run(agent, registry, asked, sent, offline=offline, side_effects=not no_side_effects)
        )
    _show(result, as_json=as_json)
    return EXIT_RUN_FAILED if result.is_error else 0


def _question(argument: str | None) -> str:
    text = argument
    if argument is None or argument == "-":
        if sys.stdin is None or (argument is None and sys.stdin.isatty()):
            raise click.UsageError('there is no question; give it as: run AGENT.YAML "QUESTION"')
        text = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    if not text or not text.strip():
        raise click.UsageError("the question is empty")
    return text.strip()


def _read(paths: tuple[Path, ...]) -> tuple[InputFile, ...]:
    if not paths:
        return ()
    from holodeck_backend_claude.input_files import read_files

    return read_files(paths)


async def _run(
    agent: Agent,
    registry: Registry,
    question: str,
    files: tuple[InputFile, ...],
    *,
    offline: bool,
    side_effects: bool,
) -> ExecutionResult:
    async with running(agent, registry, offline=offline, side_effects=side_effects) as backend:
        if files:
            from holodeck_backend_claude.input_files import check_takes_files

            check_takes_files(backend.invoke_once, "the agent's backend")
            result = await backend.invoke_once(question, files=files)
        else:
            result = await backend.invoke_once(question)
    # a client that does not know of the script works out what the tokens would have cost
    return replace(result, cost_usd=0.0) if offline else result


def _show(result: ExecutionResult, *, as_json: bool) -> None:
    from holodeck_backend_claude.chat.denials import denial_lines
    from holodeck_backend_claude.chat.printable import print_error, printable
    from holodeck_backend_claude.outcomes import failure_text

    if as_json:
        import json

        click.echo(json.dumps(result.to_dict(), indent=2, default=str))
    elif result.response:
        click.echo(printable(result.response, sys.stdout))
    for line in denial_lines(result.permission_denials):
        tell(line)
    if result.is_error:
        print_error(failure_text(result), sys.stderr)
