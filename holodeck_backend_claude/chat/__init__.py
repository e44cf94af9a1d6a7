"""Talking with an agent: one live session, and how its turns look on a terminal."""

from holodeck_backend_claude.chat.input import EXIT_COMMAND, read_messages
from holodeck_backend_claude.chat.interrupts import Interrupts
from holodeck_backend_claude.chat.live import LiveSession, TurnStoppedError
from holodeck_backend_claude.chat.permission import PermissionPrompt
from holodeck_backend_claude.chat.terminal import TurnDisplay

__all__ = [
    "EXIT_COMMAND",
    "Interrupts",
    "LiveSession",
    "PermissionPrompt",
    "TurnDisplay",
    "TurnStoppedError",
    "read_messages",
]
