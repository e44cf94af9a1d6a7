"""``claude.sandbox:`` in agent.yaml: what Claude Code confines command lines with."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from holodeck_backend_claude.config.base import Flag, Strict, Whole

Texts = tuple[str, ...]


class SandboxNetwork(Strict):
    """``network:`` says what a confined command reaches; the keys are those of Claude Code.

    Attributes:
        allowedDomains: Domains it reaches.
        deniedDomains: Domains it never reaches.
        allowUnixSockets: Paths of Unix sockets it may use.
        allowAllUnixSockets: All of them.
        allowLocalBinding: Whether it may listen on a port of this machine (macOS only).
        httpProxyPort: The port of a proxy of your own.
        socksProxyPort: As before, for SOCKS5.
    """

    allowedDomains: Texts = ()  # noqa: N815 - Claude Code's own names
    deniedDomains: Texts = ()  # noqa: N815
    allowUnixSockets: Texts = ()  # noqa: N815
    allowAllUnixSockets: Flag = False  # noqa: N815
    allowLocalBinding: Flag = False  # noqa: N815
    httpProxyPort: Whole | None = Field(default=None, ge=1, le=65_535)  # noqa: N815
    socksProxyPort: Whole | None = Field(default=None, ge=1, le=65_535)  # noqa: N815


class SandboxSettings(Strict):
    """``sandbox:`` goes to Claude Code as it is; the keys are its own.

    Attributes:
        enabled: Whether command lines are confined.
        autoAllowBashIfSandboxed: Whether a confined command line runs without asking.
        excludedCommands: Commands that run outside of the sandbox.
        allowUnsandboxedCommands: Whether the model may ask for a command outside of it.
        enableWeakerNestedSandbox: A weaker sandbox, for containers without privileges.
        network: What a confined command reaches.
    """

    enabled: Flag = True
    autoAllowBashIfSandboxed: Flag = False  # noqa: N815 - Claude Code's own names
    excludedCommands: Texts = ()  # noqa: N815
    allowUnsandboxedCommands: Flag = False  # noqa: N815
    enableWeakerNestedSandbox: Flag = False  # noqa: N815
    network: SandboxNetwork | None = None

    def as_sdk(self) -> dict[str, Any]:
        """The SDK's ``SandboxSettings``: what was said, and what is not to be left open."""
        said: dict[str, Any] = self.model_dump(mode="json", exclude_unset=True)
        return {
            **said,
            "enabled": self.enabled,
            "autoAllowBashIfSandboxed": self.autoAllowBashIfSandboxed,
            "allowUnsandboxedCommands": self.allowUnsandboxedCommands,
        }
