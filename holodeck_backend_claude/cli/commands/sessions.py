"""``holodeck-claude sessions``: the stored conversations of an agent, listed and deleted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holodeck_backend_claude.cli.agents import AGENT_ARGUMENT, read_for_running
from holodeck_backend_claude.cli.resuming import LAST, open_stored
from holodeck_backend_claude.config.problems import shorten
from holodeck_backend_claude.contract import BackendSessionError

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from holodeck_backend_claude.contract import StoredSession, StoredSessions

EXIT_NOT_DELETED = 1


@click.command("sessions")
@AGENT_ARGUMENT
@click.argument("action", type=click.Choice(["list", "delete"]), default="list")
@click.argument("session_id", metavar="[ID]", required=False)
@click.option("--all", "everything", is_flag=True, help="With delete: every one of them.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    context: click.Context,
    agent_file: Path,
    *,
    action: str,
    session_id: str | None,
    everything: bool,
    as_json: bool,
) -> int:
    """List or delete the stored conversations of an agent.

    "sessions AGENT.YAML list" shows them, the last used first; "sessions AGENT.YAML delete ID"
    or "delete --all" removes them for good, "delete last" the one used last. A conversation that
    is in use is not removed.

    Exit codes: 0 done, 1 something was not deleted, 2 configuration.
    """
    if action == "list" and (session_id or everything):
        raise click.UsageError("'list' takes no conversation and no --all")
    if action == "delete" and (session_id is None) != everything:
        raise click.UsageError("'delete' needs either the id of a conversation or --all")
    agent, registry = read_for_running(context, agent_file)
    opening = open_stored(agent, registry)
    if action == "list":
        place, known = asyncio.run(_list(opening))
        click.echo(_as_json(place, known) if as_json else _as_text(place, known))
        return 0
    deleted, problems = asyncio.run(_delete(opening, session_id))
    for problem in problems:
        click.echo(problem, err=True)
    click.echo(json.dumps({"deleted": deleted}) if as_json else f"deleted: {len(deleted)}")
    return EXIT_NOT_DELETED if problems else 0


async def _list(
    opening: AbstractAsyncContextManager[StoredSessions],
) -> tuple[str, Sequence[StoredSession]]:
    async with opening as stored:
        return stored.place, await stored.newest_first()


async def _delete(
    opening: AbstractAsyncContextManager[StoredSessions], session_id: str | None
) -> tuple[list[str], list[str]]:
    """The ids of those that are deleted, and why others are not; no id means all of them."""
    deleted: list[str] = []
    problems: list[str] = []
    async with opening as stored:
        known = [each.session_id for each in await stored.newest_first()]
        if session_id == LAST and known:
            session_id = known[0]
        for each in known if session_id is None else [session_id]:
            try:
                if await stored.delete(each):
                    deleted.append(each)
                else:
                    problems.append(f"there is no conversation {shorten(each)} in {stored.place}")
            except BackendSessionError as cause:
                problems.append(str(cause))
    return deleted, problems


def _as_json(place: str, known: Sequence[StoredSession]) -> str:
    sessions: list[dict[str, Any]] = [
        {
            "session_id": each.session_id,
            "title": each.title,
            "started": each.started.isoformat(),
            "last_used": each.last_used.isoformat(),
        }
        for each in known
    ]
    return json.dumps({"place": place, "sessions": sessions}, indent=2)


def _as_text(place: str, known: Sequence[StoredSession]) -> str:
    from holodeck_backend_claude.chat.printable import on_one_line

    if not known:
        return on_one_line(f"no conversations in {place}")
    return "\n".join(
        on_one_line(
            f"{each.session_id}  {each.last_used.astimezone():%Y-%m-%d %H:%M}  {each.title}"
        )
        for each in known
    )
