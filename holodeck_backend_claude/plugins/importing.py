"""Run a plugin's own code, whatever it does: errors contained, stdout kept, hanging announced."""

from __future__ import annotations

import contextlib
import importlib.metadata
import sys
import threading
import traceback
from collections.abc import Iterator

from holodeck_backend_claude.contract import PluginError
from holodeck_backend_claude.registry import Origin

_NOT_THE_PLACE = (__file__, importlib.__file__, importlib.metadata.__file__)

HANG_SECONDS = 2.0
"""After this long the user is told which plugin everybody is waiting for."""


@contextlib.contextmanager
def contained(doing: str) -> Iterator[None]:
    """Turn whatever foreign code raises, Ctrl-C excepted, into a PluginError.

    What the code prints goes to stderr: stdout belongs to the command, which may print JSON.

    Args:
        doing: What the code was to do, for the message: "importing it".
    """
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except (KeyboardInterrupt, PluginError):
        raise
    except BaseException as error:  # SystemExit and CancelledError of a plugin are its failures too
        raise PluginError(f"{doing} raised {describe(error)}") from error


@contextlib.contextmanager
def announced_if_slow(origin: Origin, seconds: float = HANG_SECONDS) -> Iterator[None]:
    """Name the plugin on stderr if what is inside takes longer than ``seconds``."""
    text = (
        f"holodeck-claude: still loading the plugin {origin.plugin!r} of {origin}; "
        "press Ctrl-C to stop, --block-plugin or HOLODECK_PLUGINS_BLOCK leaves it out\n"
    )
    timer = threading.Timer(seconds, _write, (text,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def describe(error: BaseException) -> str:
    """Type, message and place of an error on one line; works for errors that cannot be printed."""
    try:
        message = " ".join(str(error).split())
    except Exception:  # noqa: BLE001  # a broken __str__ is the plugin's and must not hide the type
        message = ""
    place = _place(error)
    return f"{type(error).__name__}{': ' if message else ''}{message[:500]}{place}"


def _place(error: BaseException) -> str:
    """The file and line that raised, import machinery and this file left aside."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith("<") and frame.filename not in _NOT_THE_PLACE:
            return f" ({frame.filename}:{frame.lineno})"
    return ""


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
