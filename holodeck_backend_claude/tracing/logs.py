"""Records of Python's ``logging`` as OpenTelemetry logs, secrets masked."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.context import Context, get_current
from opentelemetry.trace import INVALID_SPAN, set_span_in_context

from holodeck_backend_claude.tracing.watching import is_sending

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider

    from holodeck_backend_claude.config.observability import LogsConfig
    from holodeck_backend_claude.tracing.content import Content

_NOWHERE = set_span_in_context(INVALID_SPAN, Context())
_SEVERITIES = (
    (logging.CRITICAL, SeverityNumber.FATAL),
    (logging.ERROR, SeverityNumber.ERROR),
    (logging.WARNING, SeverityNumber.WARN),
    (logging.INFO, SeverityNumber.INFO),
)


class LogExport(logging.Handler):
    """Sends the records of some loggers; what a logger does not let through is not sent.

    Args:
        provider: Where they go.
        config: Which ones.
        content: Masks them.
    """

    def __init__(self, provider: LoggerProvider, config: LogsConfig, content: Content) -> None:
        super().__init__(config.level)
        self._provider = provider
        self._config = config
        self._content = content
        self._loggers = [logging.getLogger(name) for name in config.filter_namespaces]

    def open(self) -> None:
        """Begin to send."""
        for logger in self._loggers:
            logger.addHandler(self)

    def close(self) -> None:
        """Send no more."""
        for logger in self._loggers:
            logger.removeHandler(self)
        super().close()

    def handle(self, record: logging.LogRecord) -> bool:
        """Send a record, and show it where it would have been shown without this handler."""
        last = logging.lastResort
        if last is not None and record.levelno >= last.level and _nobody_else(record.name):
            last.handle(record)
        return bool(super().handle(record))

    def emit(self, record: logging.LogRecord) -> None:
        """Send a record; what sending itself logs is left out."""
        if is_sending():
            return
        try:
            self._send(record)
        except Exception:  # noqa: BLE001 - a record that cannot be sent must end nothing
            return

    def _send(self, record: logging.LogRecord) -> None:
        attributes = {}
        if record.exc_info and record.exc_info[0] is not None:
            attributes["exception.type"] = record.exc_info[0].__name__
            attributes["exception.message"] = self._content.masked(str(record.exc_info[1]))
        severity = (number for level, number in _SEVERITIES if record.levelno >= level)
        self._provider.get_logger(record.name).emit(
            LogRecord(
                timestamp=int(record.created * 1e9),
                observed_timestamp=time.time_ns(),
                context=get_current() if self._config.include_trace_context else _NOWHERE,
                severity_text=record.levelname,
                severity_number=next(severity, SeverityNumber.DEBUG),
                body=self._content.masked(record.getMessage()),
                attributes=attributes,
            )
        )


def _nobody_else(name: str) -> bool:
    """Whether only handlers of this kind see the records of a logger.

    Then Python would have shown warnings on stderr, if there were no handler at all.
    """
    logger: logging.Logger | None = logging.getLogger(name)
    while logger is not None:
        if any(not isinstance(handler, LogExport) for handler in logger.handlers):
            return False
        logger = logger.parent if logger.propagate else None
    return True
