"""The group of commands: help without imports, common options, exit codes, errors."""

from __future__ import annotations

import logging
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

import click
import pytest

from holodeck_backend_claude.cli.main import COMMANDS, LazyGroup, main
from holodeck_backend_claude.cli.options import CommonOptions, common_options
from holodeck_backend_claude.contract import BackendInitError, ConfigError

AddCommand = Callable[[Callable[[click.Context], Any]], None]


@pytest.fixture
def add_command(monkeypatch: pytest.MonkeyPatch) -> AddCommand:
    """Adds the command ``probe``, which does what it is given."""

    def add(body: Callable[[click.Context], Any]) -> None:
        module = types.ModuleType("holodeck_backend_claude.cli.commands.probe")
        module.command = click.Command("probe", callback=click.pass_context(body))  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(COMMANDS, "probe", "A command of a test.")

    return add


@pytest.fixture(autouse=True)
def log_levels_restored() -> Iterator[None]:
    loggers = [logging.getLogger(), logging.getLogger("holodeck_backend_claude")]
    levels = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


def raising(error: BaseException) -> Callable[[click.Context], None]:
    def body(_context: click.Context) -> None:
        raise error

    return body


def test_help_lists_every_command_without_importing_one() -> None:
    program = (
        "import sys; from holodeck_backend_claude.cli import main; code = main(['--help'])\n"
        "commands = ['run', 'chat', 'validate', 'plugins']\n"
        "folder = 'holodeck_backend_claude.cli.commands'\n"
        "print([c for c in commands if f'{folder}.{c}' in sys.modules], code)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "[] 0"
    for name, text in COMMANDS.items():
        assert f"{name} " in done.stdout
        assert text in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_the_short_help_in_the_list_is_the_one_of_the_command(name: str) -> None:
    group = LazyGroup()
    context = click.Context(group)

    command = group.get_command(context, name)

    assert command is not None
    assert command.get_short_help_str(limit=200) == COMMANDS[name]


def test_version_is_the_one_of_the_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"holodeck-claude {version('holodeck-backend-claude')}\n"


def test_an_unknown_command_is_a_usage_error_with_a_hint(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["plugin"]) == 2
    assert "No such command 'plugin'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--strict-plugins", "--block-plugin", "a", "--block-plugin", "b", "-v", "probe"],
        ["probe", "--strict-plugins", "--block-plugin", "a", "--block-plugin", "b", "--verbose"],
        ["--block-plugin", "a", "-v", "probe", "--block-plugin", "b", "--strict-plugins"],
    ],
)
def test_common_options_count_before_and_after_the_command(
    arguments: list[str], add_command: AddCommand
) -> None:
    seen: list[CommonOptions] = []
    add_command(lambda context: seen.append(common_options(context)))

    assert main(arguments) == 0

    assert seen == [CommonOptions(strict_plugins=True, block_plugins=["a", "b"], verbose=True)]


def test_common_options_do_not_outlive_an_invocation(add_command: AddCommand) -> None:
    seen: list[CommonOptions] = []
    add_command(lambda context: seen.append(common_options(context)))

    main(["probe", "--block-plugin", "a"])
    main(["probe"])

    assert seen[1] == CommonOptions()


def test_a_command_used_alone_finds_the_defaults() -> None:
    assert common_options(click.Context(click.Command("alone"))) == CommonOptions()


@pytest.mark.parametrize(("returned", "code"), [(None, 0), (0, 0), (5, 5), ("text", 0)])
def test_a_command_sets_the_exit_code_by_what_it_returns(
    returned: object, code: int, add_command: AddCommand
) -> None:
    add_command(lambda _context: returned)

    assert main(["probe"]) == code


def test_a_command_sets_the_exit_code_by_leaving(add_command: AddCommand) -> None:
    add_command(lambda context: context.exit(4))

    assert main(["probe"]) == 4


@pytest.mark.parametrize("error", [ConfigError("agent.yaml:3: no"), BackendInitError("no key")])
def test_an_expected_error_is_a_message_and_exit_code_2(
    error: Exception, add_command: AddCommand, capsys: pytest.CaptureFixture[str]
) -> None:
    add_command(raising(error))

    assert main(["probe"]) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"Error: {error}\n"


def test_verbose_adds_the_traceback_to_an_expected_error(
    add_command: AddCommand, capsys: pytest.CaptureFixture[str]
) -> None:
    add_command(raising(ConfigError("agent.yaml:3: no")))

    assert main(["-v", "probe"]) == 2

    text = capsys.readouterr().err
    assert "Traceback (most recent call last)" in text
    assert text.endswith("Error: agent.yaml:3: no\n")


def test_an_unexpected_error_is_one_line_that_says_so(
    add_command: AddCommand, capsys: pytest.CaptureFixture[str]
) -> None:
    add_command(raising(KeyError("a\nb")))

    assert main(["probe"]) == 3

    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("Internal error: KeyError: ")
    assert "this is a bug" in captured.err
    assert "-v" in captured.err


def test_verbose_adds_the_traceback_to_an_unexpected_error(
    add_command: AddCommand, capsys: pytest.CaptureFixture[str]
) -> None:
    add_command(raising(RuntimeError("odd")))

    assert main(["probe", "-v"]) == 3

    assert "raise error\nRuntimeError: odd" in capsys.readouterr().err


def test_ctrl_c_ends_quietly_with_130(
    add_command: AddCommand, capsys: pytest.CaptureFixture[str]
) -> None:
    add_command(raising(KeyboardInterrupt()))

    assert main(["probe"]) == 130

    assert capsys.readouterr().err.strip() == ""


def test_an_abort_that_is_no_ctrl_c_is_an_ordinary_failure(add_command: AddCommand) -> None:
    add_command(raising(click.Abort()))

    assert main(["probe"]) == 1


@pytest.mark.parametrize(
    "body",
    [
        "click.echo('x' * 200_000)",
        "print('x' * 200_000)",
        "print('x')",
    ],
)
def test_a_reader_that_goes_away_is_no_error_message(body: str) -> None:
    program = f"""
import sys, types, click
from holodeck_backend_claude.cli.main import COMMANDS, main
module = types.ModuleType("holodeck_backend_claude.cli.commands.probe")
def body():
    sys.stdin.read()
    {body}
module.command = click.Command("probe", callback=body)
sys.modules[module.__name__] = module
COMMANDS["probe"] = ""
sys.exit(main(["probe"]))
"""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stdin.close()
        errors = process.stderr.read()

    assert errors == ""
    assert process.returncode == 1


def test_without_a_terminal_there_are_no_colours(
    add_command: AddCommand, capsys: pytest.CaptureFixture[str]
) -> None:
    add_command(raising(ConfigError("no")))

    main(["probe"])

    assert "\x1b" not in capsys.readouterr().err


def test_verbose_logs_to_stderr_and_never_to_stdout() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "holodeck_backend_claude.cli", "-v", "plugins", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.startswith("{")
    assert done.stdout.rstrip().endswith("}")
