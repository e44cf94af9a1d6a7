"""Run a plugin's own code, whatever it does: errors contained, stdout kept, hanging announced."""

from __future__ import annotations

import contextlib
import importlib.metadata
import sys
import threading
import time
import traceback
from collections.abc import Iterator

from holodeck_backend_claude.contract import PluginError
from holodeck_backend_claude.failures import error_text
from holodeck_backend_claude.redaction import mask_secrets
from holodeck_backend_claude.registry import Origin

_NOT_THE_PLACE = (__file__, importlib.__file__, importlib.metadata.__file__)

_LONGEST_MESSAGE = 500
_LONGEST_CAUSE = 1_000  # a message with what was done, and the file and line that raised it

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
        raise PluginError(f"{doing} raised {_on_one_line(error)}{_place(error)}") from error


class SlowWatch:
    """Names a plugin on stderr, from a thread of its own, once it keeps everybody waiting."""

    def __init__(self) -> None:
        self._waiting_for: tuple[Origin, float] | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="slow plugin watch", daemon=True)

    def __enter__(self) -> SlowWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    @contextlib.contextmanager
    def on(self, origin: Origin) -> Iterator[None]:
        """Watch while the code of this plugin runs."""
        self._waiting_for = (origin, time.monotonic())
        try:
            yield
        finally:
            self._waiting_for = None

    def _watch(self) -> None:
        told = None
        while not self._ended.wait(HANG_SECONDS / 8):
            waiting_for = self._waiting_for
            if waiting_for is None or waiting_for is told:
                continue
            origin, since = waiting_for
            if time.monotonic() - since >= HANG_SECONDS:
                told = waiting_for
                _write(
                    f"holodeck-claude: still loading the plugin {origin.plugin!r} of {origin}; "
                    "press Ctrl-C to stop, --block-plugin or HOLODECK_PLUGINS_BLOCK leaves it out\n"
                )


def _on_one_line(error: BaseException) -> str:
    return _cut(" ".join(error_text(error).split()), _LONGEST_MESSAGE)


def cause_of(error: PluginError) -> str:
    """Why a plugin failed: masked, as a plugin can raise this error itself, and cut with a mark."""
    return _cut(mask_secrets(str(error)), _LONGEST_CAUSE)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 2]} …"


def _place(error: BaseException) -> str:
    """The file and line that raised, import machinery and this file left aside."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith("<") and frame.filename not in _NOT_THE_PLACE:
            return f" ({frame.filename}:{frame.lineno})"
    return ""


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
