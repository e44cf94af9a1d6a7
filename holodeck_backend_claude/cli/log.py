"""The log as the commands show it on stderr: secrets masked, nothing that controls a terminal."""

from __future__ import annotations

import logging


def send_log_to_stderr(*, verbose: bool) -> None:
    """Show warnings, and with ``verbose`` more; calling it again changes only how much."""
    logging.basicConfig(format="%(levelname)s: %(message)s")
    for handler in logging.getLogger().handlers:
        if type(handler) is logging.StreamHandler:
            handler.setFormatter(SafeFormatter("%(levelname)s: %(message)s"))
    if verbose:
        logging.getLogger().setLevel(logging.INFO)
        logging.getLogger("holodeck_backend_claude").setLevel(logging.DEBUG)


class SafeFormatter(logging.Formatter):
    """Masks the whole record, its traceback included; what follows its first line is indented.

    So that a line break in a quoted name cannot look like a record of its own.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The text of the record."""
        from holodeck_backend_claude.chat.printable import without_controls
        from holodeck_backend_claude.redaction import mask_secrets

        return without_controls(mask_secrets(super().format(record))).replace("\n", "\n  ")
