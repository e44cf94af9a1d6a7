"""The command line: ``holodeck-claude``, one file per command."""

from holodeck_backend_claude.cli.main import main

__all__ = ["main"]
