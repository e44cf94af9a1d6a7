"""``holodeck-claude plugins``: what is loaded, blocked or failed, from where, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from holodeck_backend_claude.cli.options import common_options

if TYPE_CHECKING:
    from holodeck_backend_claude.plugins import PluginInfo, PluginLists, Plugins

_COLOURS = {"loaded": "green", "blocked": "yellow", "failed": "red"}
_HEADINGS = ("NAME", "DISTRIBUTION", "STATE", "IMPORT", "PROVIDES")
_STATE = _HEADINGS.index("STATE")


@click.command("plugins")
@click.argument(
    "agent_file",
    metavar="[AGENT.YAML]",
    required=False,
    type=click.Path(path_type=Path),
)
@click.option("--json", "as_json", is_flag=True, help="Print everything that is known as JSON.")
@click.pass_context
def command(context: click.Context, agent_file: Path | None, *, as_json: bool) -> None:
    """List the plugins: what is loaded, blocked or failed, and why.

    With AGENT.YAML, as its "plugins" block has it. A plugin that fails does not make this
    command fail, unless --strict-plugins is given.
    """
    from holodeck_backend_claude.plugins import load_plugins

    options = common_options(context)
    config = _plugins_block(agent_file) if agent_file is not None else None
    plugins = load_plugins(config=config, block=options.block_plugins, quiet=True)
    click.echo(_as_json(plugins) if as_json else _as_text(plugins))
    if options.strict_plugins:
        plugins.require_all()


def _plugins_block(agent_file: Path) -> PluginLists:
    from holodeck_backend_claude.config import read_plugins_block

    return read_plugins_block(agent_file)


def _as_json(plugins: Plugins) -> str:
    import json

    from holodeck_backend_claude.hookspecs import API_VERSION

    return json.dumps(
        {
            "api": API_VERSION,
            "plugins": [info.to_dict() for info in plugins.infos],
            "warnings": list(plugins.warnings),
        },
        indent=2,
    )


def _as_text(plugins: Plugins) -> str:
    from holodeck_backend_claude.chat.printable import on_one_line

    lines = _table([_HEADINGS, *(tuple(map(on_one_line, _cells(info))) for info in plugins.infos)])
    notes = [
        f"{info.name} ({info.distribution} {info.version}): {note}"
        for info in plugins.infos
        for note in (*([info.cause] if info.cause else []), *info.warnings)
    ]
    notes += plugins.warnings
    return "\n".join([*lines, *([""] if notes else []), *map(on_one_line, notes)])


def _cells(info: PluginInfo) -> tuple[str, ...]:
    seconds = info.import_seconds
    return (
        info.name,
        f"{info.distribution} {info.version}",
        info.state,
        "-" if seconds is None else f"{seconds * 1000:.1f} ms",
        ", ".join(info.provides) or "-",
    )


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            _coloured(cell.ljust(width), index)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _coloured(cell: str, column: int) -> str:
    colour = _COLOURS.get(cell.strip()) if column == _STATE else None
    return click.style(cell, fg=colour) if colour else cell
