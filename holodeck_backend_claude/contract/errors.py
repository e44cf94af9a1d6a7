"""The errors this package raises on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holodeck_backend_claude.contract.results import ExecutionResult


class HoloDeckError(Exception):
    """Base of every error this package raises on purpose; its text is written for the user."""


class ConfigError(HoloDeckError):
    """An agent file is missing, unreadable or wrong; the text says where and what to do."""


class PluginError(HoloDeckError):
    """A plugin that is needed is missing, blocked or broken, or breaks the plugin API."""


class BackendError(HoloDeckError):
    """Base for all backend errors.

    Attributes:
        result: What the turn had produced before it failed, or None before any turn.
    """

    def __init__(self, message: str, *, result: ExecutionResult | None = None) -> None:
        super().__init__(message)
        self.result = result


class BackendInitError(BackendError):
    """Raised during ``initialize()``: startup validation failures."""


class BackendSessionError(BackendError):
    """Raised during ``send()``: session-level failures such as a subprocess crash."""


class BackendTimeoutError(BackendError):
    """Raised when a single invocation exceeds the configured timeout."""


class ToolServerError(HoloDeckError):
    """The server behind a tool is gone, so that the tool's call could not be made or answered.

    Attributes:
        server: Its name in agent.yaml.
    """

    def __init__(self, message: str, *, server: str) -> None:
        super().__init__(message)
        self.server = server
