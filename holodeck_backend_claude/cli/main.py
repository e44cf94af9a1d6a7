"""``holodeck-claude``: the group of commands, loaded one by one, and what errors look like."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from holodeck_backend_claude.cli.ending import end_process
from holodeck_backend_claude.cli.options import CommonOptions, common_parameters
from holodeck_backend_claude.contract import HoloDeckError

PROGRAM = "holodeck-claude"

COMMANDS = {
    "run": "Ask an agent one question and print its answer.",
    "chat": "Talk with an agent in one live session.",
    "index": "Bring the indexes of an agent's search tools up to date.",
    "sessions": "List or delete the stored conversations of an agent.",
    "validate": "Check an agent file without running it.",
    "plugins": "List the plugins: what is loaded, blocked or failed, and why.",
}
"""Each command and its line in ``--help``. ``cli/commands/<name>.py`` defines it as ``command``."""

_CANNOT_WRITE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF, errno.EIO}

EXIT_NO_READER = 1
EXIT_ERROR = 2
EXIT_BUG = 3
EXIT_INTERRUPTED = 130


class LazyGroup(click.Group):
    """Imports a command's module only when that command is used."""

    def __init__(self) -> None:
        super().__init__(
            name=PROGRAM,
            context_settings={"help_option_names": ["-h", "--help"]},
            help="Run a HoloDeck agent.yaml on the Claude Agent SDK or on Semantic Kernel.",
            commands={name: click.Command(name) for name in COMMANDS},
            params=[
                click.Option(
                    ["--version"],
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    callback=_print_version,
                    help="Show the version and exit.",
                ),
                *common_parameters(),
            ],
        )

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order a newcomer needs them."""
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command itself, from its module."""
        if cmd_name not in self.commands:
            return None
        module = importlib.import_module(f"holodeck_backend_claude.cli.commands.{cmd_name}")
        command: click.Command = module.command
        _add_common_parameters(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands in ``--help``, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; never raises but for ``SystemExit``.

    Args:
        arguments: What follows the program's name; by default the process's own arguments, the
            process then ends with the command.
    """
    if arguments is not None:
        return _exit_code(arguments)
    try:
        code = _exit_code(None)
    except SystemExit as end:
        end_process(end.code if isinstance(end.code, int) else 1 if end.code else 0)
        raise
    end_process(code)
    return code


def _exit_code(arguments: Sequence[str] | None) -> int:
    options = CommonOptions()
    try:
        _require_streams()
        result = LazyGroup().main(
            args=arguments, prog_name=PROGRAM, standalone_mode=False, obj=options
        )
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt) as error:
        return _interrupted(error)
    except BrokenPipeError:
        _give_up_stdout()
        return EXIT_NO_READER
    except HoloDeckError as error:
        _print_error(str(error), options)
        return EXIT_ERROR
    except Exception as error:  # noqa: BLE001  # the last one: nobody is to see a bare traceback
        return _unexpected(error, options)
    return result if isinstance(result, int) else 0


def _add_common_parameters(command: click.Command) -> None:
    """Let ``holodeck-claude run --block-plugin x`` mean what it says, too."""
    taken = {name for parameter in command.params for name in parameter.opts}
    command.params += [each for each in common_parameters() if not taken.intersection(each.opts)]


def _print_version(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if not value or context.resilient_parsing:
        return
    from importlib.metadata import version

    click.echo(f"{PROGRAM} {version('holodeck-backend-claude')}")
    context.exit()


def _interrupted(error: BaseException) -> int:
    """Ctrl-C ends quietly; an abort that a command asked for is an ordinary failure."""
    if isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    return 1


def _require_streams() -> None:
    if sys.stderr is None:  # what nobody is to see has to go somewhere
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        raise HoloDeckError("stdout is closed; give the program a place to write its answer to")


def _unexpected(error: Exception, options: CommonOptions) -> int:
    """A disk that is full is no bug; what else nobody foresaw is one."""
    if isinstance(error, OSError) and error.errno in _CANNOT_WRITE and error.filename is None:
        _give_up_stdout()
        _print_error(f"the output cannot be written: {error.strerror}", options)
        return EXIT_NO_READER
    _print_bug(error, options)
    return EXIT_BUG


def _give_up_stdout() -> None:
    """Nobody reads any more; what is still buffered must not fail again when Python exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_error(message: str, options: CommonOptions) -> None:
    _print_traceback(options)
    _print_red("Error", message)


def _print_bug(error: Exception, options: CommonOptions) -> None:
    from holodeck_backend_claude.failures import error_text

    _print_traceback(options)
    where = (
        "the traceback is above" if options.verbose else "run it again with -v for the traceback"
    )
    text = " ".join(error_text(error).split())
    _print_red("Internal error", f"{text} (this is a bug, please report it; {where})")


def _print_red(label: str, text: str) -> None:
    from holodeck_backend_claude.chat.printable import print_error

    print_error(text, sys.stderr, label=label)


def _print_traceback(options: CommonOptions) -> None:
    if options.verbose:
        import traceback

        from holodeck_backend_claude.chat.printable import without_controls
        from holodeck_backend_claude.redaction import mask_secrets

        click.echo(without_controls(mask_secrets(traceback.format_exc())), err=True)
