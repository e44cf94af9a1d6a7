"""``type: mcp`` in an agent file: an MCP server, and how it is reached."""

from __future__ import annotations

import codecs
import ipaddress
from typing import Annotated, Any, Literal, Self, TypeAlias
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, StringConstraints, field_validator, model_validator

from holodeck_backend_claude.config.base import Flag, NonBlank, Seconds
from holodeck_backend_claude.config.paths import ExistingPath
from holodeck_backend_claude.config.tool_models import ToolConfig

Transport: TypeAlias = Literal["stdio", "sse", "http", "websocket"]
VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
HeaderName = Annotated[str, StringConstraints(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")]

DEFAULT_START_SECONDS = 60.0  # a first `npx` or `uvx` downloads the server
DEFAULT_SSE_READ_SECONDS = 300.0

_STDIO_ONLY = ("command", "args", "env", "env_file", "encoding", "config")
_OF = {
    **dict.fromkeys(_STDIO_ONLY, ("stdio",)),
    "url": ("sse", "http", "websocket"),
    "headers": ("sse", "http", "websocket"),
    "sse_read_timeout": ("sse", "http"),
    "terminate_on_close": ("http",),
}
_SCHEMES = {
    "sse": ("https", "http"),
    "http": ("https", "http"),
    "websocket": ("wss", "ws"),
}


class MCPTool(ToolConfig):
    """``type: mcp``: the tools of an MCP server, each of them a tool of the agent.

    Attributes:
        transport: How the server is reached.
        command: stdio: the program that is the server, found on PATH.
        args: stdio: its arguments.
        env: stdio: its variables, beside PATH, HOME and the like.
        env_file: stdio: a file of ``NAME=value`` with further ones; ``env`` wins.
        encoding: stdio: the encoding of its messages; by default UTF-8.
        config: stdio: given to the server as JSON in the variable ``MCP_CONFIG``.
        url: The address of a server that runs elsewhere.
        headers: Headers of each request to it, or of the WebSocket's handshake.
        timeout: Seconds until the server is connected and has listed what it offers; with ``sse``
            and ``http`` also the limit of one connection attempt.
        sse_read_timeout: Seconds of silence after which a stream of events is taken for dead.
        terminate_on_close: http: whether the server is told that the session is over.
        request_timeout: Seconds one call may take.
        load_tools: Whether the server's tools are offered.
        load_prompts: Whether its prompts and resources are offered, as tools.
        optional: Whether the agent runs without the server where it cannot be started.
        registry_name: The server's name in the MCP registry; messages name it.
    """

    type: Literal["mcp"] = "mcp"
    transport: Transport = "stdio"
    command: NonBlank | None = None
    args: tuple[str, ...] = ()
    env: dict[VariableName, SecretStr] = Field(default_factory=dict)
    env_file: Annotated[NonBlank, ExistingPath("file")] | None = None
    encoding: NonBlank | None = None
    config: dict[str, Any] | None = Field(default=None, repr=False)
    url: NonBlank | None = None
    headers: dict[HeaderName, SecretStr] = Field(default_factory=dict)
    timeout: Seconds = DEFAULT_START_SECONDS
    sse_read_timeout: Seconds | None = None
    terminate_on_close: Flag | None = None
    request_timeout: Seconds = 60.0
    load_tools: Flag = True
    load_prompts: Flag = False
    optional: Flag = False
    registry_name: NonBlank | None = None

    @property
    def call_seconds(self) -> float:
        """Seconds one call may take."""
        return self.request_timeout

    @field_validator("encoding")
    @classmethod
    def _is_an_encoding(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            "{}".encode(value).decode(value)
        except (LookupError, UnicodeError):
            raise ValueError(
                f"{value!r} is no encoding of text that Python knows; the usual one is utf-8"
            ) from None
        return codecs.lookup(value).name

    @field_validator("headers")
    @classmethod
    def _are_sendable(cls, value: dict[str, SecretStr]) -> dict[str, SecretStr]:
        for name, secret in value.items():
            text = secret.get_secret_value()
            if not text.isprintable() or not text.isascii():
                raise ValueError(
                    f"the value of the header {name!r} cannot be sent: it holds a line break or "
                    "another character that no header may have"
                )
        return value

    @model_validator(mode="after")
    def _fits_the_transport(self) -> Self:
        for key in sorted(self.model_fields_set & _OF.keys()):
            if getattr(self, key) is not None and self.transport not in _OF[key]:
                raise ValueError(
                    f"{key!r} belongs to the transport {' or '.join(_OF[key])}, not to "
                    f"{self.transport}; remove it or change 'transport'"
                )
        needed = "command" if self.transport == "stdio" else "url"
        if getattr(self, needed) is None:
            raise ValueError(f"the transport {self.transport} needs {needed!r}")
        if not (self.load_tools or self.load_prompts):
            raise ValueError(
                "with 'load_tools: false' and without 'load_prompts: true' nothing of the server "
                "is left; remove it, or load one of the two"
            )
        if self.url is not None:
            _check_url(self.url, self.transport)
        return self


def _check_url(url: str, transport: str) -> None:
    parts = urlsplit(url)
    safe, plain = _SCHEMES[transport]
    if parts.scheme not in (safe, plain) or not parts.hostname:
        raise ValueError(
            f"'url' of the transport {transport} has to begin with {safe}://, or {plain}:// for a "
            "server on this machine"
        )
    if parts.scheme == plain and not _is_this_machine(parts.hostname):
        raise ValueError(
            f"'url' goes over the network without encryption; use {safe}:// ({plain}:// only "
            "reaches servers on this machine)"
        )


def _is_this_machine(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
