"""The options that every command takes, before or after its name, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from holodeck_backend_claude.plugins import PluginLists, Plugins


@dataclass
class CommonOptions:
    """What the common options say; every command finds it with :func:`common_options`.

    Attributes:
        strict_plugins: Any plugin that fails is fatal.
        block_plugins: Plugins or distributions that must not load.
        verbose: Log to stderr, and show the traceback of an error.
    """

    strict_plugins: bool = False
    block_plugins: list[str] = field(default_factory=list)
    verbose: bool = False

    def load_plugins(self, config: PluginLists | None = None) -> Plugins:
        """Load the plugins as the command line and the environment say.

        Args:
            config: The ``plugins`` block of the agent, if there is one.
        """
        from holodeck_backend_claude.plugins import load_plugins

        return load_plugins(config=config, block=self.block_plugins, strict=self.strict_plugins)


def common_options(context: click.Context) -> CommonOptions:
    """The common options of this invocation."""
    return context.ensure_object(CommonOptions)


def common_parameters() -> list[click.Parameter]:
    """The options themselves, fresh for one command; they store what they get in the context."""
    return [
        click.Option(
            ["--strict-plugins"],
            is_flag=True,
            expose_value=False,
            callback=_store_strict,
            help="Stop if any installed plugin fails to load.",
        ),
        click.Option(
            ["--block-plugin"],
            multiple=True,
            metavar="NAME",
            expose_value=False,
            callback=_store_blocked,
            help="Do not load this plugin or distribution; may be given several times.",
        ),
        click.Option(
            ["-v", "--verbose"],
            is_flag=True,
            expose_value=False,
            callback=_store_verbose,
            help="Log to stderr, and show the traceback of an error.",
        ),
    ]


def _store_strict(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    common_options(context).strict_plugins |= value


def _store_blocked(
    context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]
) -> None:
    common_options(context).block_plugins += value


def _store_verbose(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    from holodeck_backend_claude.cli.log import send_log_to_stderr

    options = common_options(context)
    options.verbose |= value
    send_log_to_stderr(verbose=options.verbose)
