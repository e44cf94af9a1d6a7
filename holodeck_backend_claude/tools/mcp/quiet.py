"""The log of mcp's client, for connections of this package: no tracebacks, and not as warnings.

What goes wrong with a connection is told by whoever uses it, with the server's name.
"""

from __future__ import annotations

import logging
from contextvars import ContextVar
from functools import cache

from holodeck_backend_claude.failures import error_text
from holodeck_backend_claude.redaction import mask_secrets

connection_log: ContextVar[logging.Logger | None] = ContextVar("connection_log", default=None)
"""The logger of the connection that the running code belongs to."""

# mcp's session logs to the root logger
_LOGGERS = ("", "client", "httpx")


@cache
def quieten() -> None:
    """Send what mcp's client logs within a connection to that connection's log; once."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_redirect)


def _redirect(record: logging.LogRecord) -> bool:
    log = connection_log.get()
    if log is None or record.name == log.name:
        return True
    cause = record.exc_info[1] if record.exc_info else None
    said = mask_secrets(record.getMessage())
    log.debug("%s%s", said, f": {error_text(cause)}" if cause else "")
    return False
