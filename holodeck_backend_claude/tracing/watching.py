"""A collector that takes nothing does no harm: one warning, no traceback, no long wait."""

from __future__ import annotations

import logging
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

log = logging.getLogger(__name__)

_here = threading.local()

# What libraries say in many words, by a sign of it.
_IN_WORDS = {
    "Connection refused": "nothing listens there (connection refused)",
    "Name or service not known": "there is no host of that name",
    "Failed to resolve": "there is no host of that name",
    "StatusCode.UNAVAILABLE": "nothing answers there",  # the older gRPC exporter says no more
}


class Watch:
    """Watches the exporters of one agent.

    Args:
        where: Where they send to, without secrets.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._exporters: list[Any] = []
        self._warned = False
        self._closing = False

    def over(self, exporter: Any) -> Any:
        """The same exporter, watched; what it logs while it sends is taken for failure."""
        send = exporter.export
        quiet_libraries()

        def export(*args: Any, **kwargs: Any) -> Any:
            result = None
            with self._sending():
                result = send(*args, **kwargs)
                if getattr(result, "name", "") == "FAILURE":
                    self.failed("it does not take them")
            return result

        end, ended = exporter.shutdown, threading.Event()

        def shutdown(*args: Any, **kwargs: Any) -> None:
            if not ended.is_set():  # an exporter that was given up is ended again by its owner
                ended.set()
                with self._sending():
                    end(*args, **kwargs)

        exporter.export, exporter.shutdown = export, shutdown
        self._exporters.append(exporter)
        return exporter

    def failed(self, why: str) -> None:
        """Something could not be sent; said once. At the end there is no further attempt."""
        if not self._warned:
            self._warned = True
            log.warning(
                "traces, metrics and logs do not reach %s: %s; the agent goes on without. Check "
                "observability.exporters in agent.yaml",
                self._where,
                why,
            )
        if self._closing:
            self.give_up()

    def closing(self) -> None:
        """From now on nothing is sent again; where sending has failed, nothing is sent at all."""
        self._closing = True
        if self._warned:
            self.give_up()

    def give_up(self) -> None:
        """Make every exporter end what it is waiting for."""
        exporters, self._exporters = self._exporters, []
        for exporter in exporters:
            exporter.shutdown()

    @contextmanager
    def _sending(self) -> Iterator[None]:
        before = getattr(_here, "watch", None)
        _here.watch = self
        try:
            yield
        except Exception as cause:  # noqa: BLE001  it would be logged with a traceback
            self.failed(type(cause).__name__)
        finally:
            _here.watch = before


def is_sending() -> bool:
    """Whether this thread is sending telemetry, so that what it logs is no telemetry itself."""
    return getattr(_here, "watch", None) is not None


class _SaidOnce(logging.Filter):
    """Turns what exporters log while one of ours sends into the one warning."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is to be logged as it is."""
        watch: Watch | None = getattr(_here, "watch", None)
        if watch is None:
            return True
        if record.levelno >= logging.WARNING:
            _here.watch = None  # what the warning itself logs is no failure
            try:
                watch.failed(_first_line(record))
            finally:
                _here.watch = watch
        return False


_FILTER = _SaidOnce()


def quiet_libraries() -> None:
    """Put the filter on every logger that an exporter has; it does nothing for others' threads."""
    for name in tuple(logging.root.manager.loggerDict):
        if name.startswith("opentelemetry."):
            logging.getLogger(name).addFilter(_FILTER)


def _first_line(record: logging.LogRecord) -> str:
    from holodeck_backend_claude.redaction import mask_secrets

    text = mask_secrets(record.getMessage())
    for sign, words in _IN_WORDS.items():
        if sign in text:
            return words
    lines = text.splitlines()
    return textwrap.shorten(lines[0], 200, placeholder=" …") if lines else "no reason given"
