"""``holodeck-claude index``: bring the indexes of an agent's search tools up to date."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

import click

from holodeck_backend_claude.cli.agents import AGENT_ARGUMENT, read_for_running
from holodeck_backend_claude.cli.options import common_options

if TYPE_CHECKING:
    from holodeck_backend_claude.config import Agent, ToolConfig
    from holodeck_backend_claude.contract import ShowProgress
    from holodeck_backend_claude.registry import Registry
    from holodeck_backend_claude.tools.indexes import Indexes, OpenIndex, Outcome

    Tell: TypeAlias = Callable[[Outcome], None]

EXIT_NOT_WHOLE = 1

_LOGS_OF_TOOLS = "holodeck_backend_claude.tool"


@click.command("index")
@AGENT_ARGUMENT
@click.option(
    "--tool",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only the index of this tool; may be given several times.",
)
@click.option("--force", is_flag=True, help="Read, cut and embed everything anew.")
@click.option("--watch", is_flag=True, help="Go on, and follow the documents until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON, a line a tool.")
@click.pass_context
def command(
    context: click.Context,
    agent_file: Path,
    *,
    names: tuple[str, ...],
    force: bool,
    watch: bool,
    as_json: bool,
) -> int:
    """Bring the indexes of an agent's search tools up to date.

    AGENT.YAML is a file, or a folder with an agent.yaml. Only what changed is read and embedded.
    Each file that is left out is listed with its cause. The agent's model is not called.

    Exit codes: 0 done, 1 an index or some of its vectors could not be made, 2 configuration.
    """
    from holodeck_backend_claude.cli.signals import run_to_end

    agent, registry = read_for_running(context, agent_file)
    level = logging.NOTSET if common_options(context).verbose else logging.ERROR
    printed = sys.stdout
    with redirect_stdout(sys.stderr), _log_of_tools(level), _bar() as bar:

        def tell(outcome: Outcome) -> None:
            bar("", 1, 1)
            click.echo(_line(outcome) if as_json else _text(outcome, printed), file=printed)

        return run_to_end(_run(agent, registry, bar, tell, names=names, anew=force, watch=watch))


@contextmanager
def _log_of_tools(level: int) -> Iterator[None]:
    """Log of tools what is this grave; the rest is in what is printed."""
    log = logging.getLogger(_LOGS_OF_TOOLS)
    before = log.level
    log.setLevel(level)
    try:
        yield
    finally:
        log.setLevel(before)


@contextmanager
def _bar() -> Iterator[ShowProgress]:
    from holodeck_backend_claude.cli.progress import progress_line

    with progress_line() as progress:
        yield progress or (lambda _label, _done, _total: None)


async def _run(  # noqa: PLR0913  # one for each option
    agent: Agent,
    registry: Registry,
    bar: ShowProgress,
    tell: Tell,
    *,
    names: Sequence[str],
    anew: bool,
    watch: bool,
) -> int:
    from holodeck_backend_claude.tools.indexes import open_indexes

    current = [""]
    registry = registry.with_progress(
        lambda label, done, total: bar(f"{current[0]}: {label}", done, total)
    )
    async with open_indexes(agent, registry, anew=anew) as indexes:
        found: list[tuple[OpenIndex | None, Outcome]] = []
        for config in _chosen(indexes, names):
            current[0] = config.name
            found.append(await indexes.open(config))
            tell(found[-1][1])
        current[0] = "documents"
        if watch:
            await _follow([(index, first) for index, first in found if index is not None], tell)
        return 0 if all(outcome.is_whole for _, outcome in found) else EXIT_NOT_WHOLE


async def _follow(indexes: list[tuple[OpenIndex, Outcome]], tell: Tell) -> None:
    async def follow(index: OpenIndex, first: Outcome) -> None:
        async for outcome in index.changes(first):
            tell(outcome)

    if indexes:
        click.echo("Watching for changes; Ctrl-C ends it.", err=True)
    await asyncio.gather(*(follow(index, first) for index, first in indexes))


def _chosen(indexes: Indexes, names: Sequence[str]) -> tuple[ToolConfig, ...]:
    known = {config.name: config for config in indexes.configs}
    if not known:
        raise click.UsageError("no tool of this agent keeps an index")
    for name in names:
        if name not in known:
            raise click.UsageError(
                f"no tool {name!r} of this agent keeps an index; those that do: {', '.join(known)}"
            )
    return tuple(known[name] for name in dict.fromkeys(names)) or indexes.configs


def _line(outcome: Outcome) -> str:
    found: dict[str, Any] = {"tool": outcome.tool, "type": outcome.type, "error": outcome.error}
    if (report := outcome.report) is not None:
        found |= {
            "files": report.files,
            "passages": report.chunks,
            "embedded": report.embedded,
            "changed": report.changed,
            "removed": report.removed,
            "skipped": [dataclasses.asdict(each) for each in report.skipped],
            "not_embedded": [dataclasses.asdict(each) for each in report.not_embedded],
        }
    return json.dumps(found)


def _text(outcome: Outcome, stream: TextIO) -> str:
    from holodeck_backend_claude.chat.printable import on_one_line, printable

    if (report := outcome.report) is None:
        lines = [f"{outcome.tool}: {outcome.error}"]
    else:
        held = f"{report.files} files, {report.chunks} passages, {report.embedded} with vectors"
        done = f"{report.changed} files changed, {report.removed} removed"
        lines = [
            f"{outcome.tool}: {held}; {done}",
            *(f"  not indexed: {each.path}: {each.cause}" for each in report.skipped),
            *(
                f"  found by keyword only: {each.path}: {each.cause}"
                for each in report.not_embedded
            ),
        ]
    return "\n".join(printable(on_one_line(line), stream) for line in lines)
