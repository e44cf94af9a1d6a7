"""Which variables the Claude Code process gets: an allowlist, ours, and the credentials."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from holodeck_backend_claude.claude.model_settings import model_variables
from holodeck_backend_claude.claude.process.credentials import find_credentials
from holodeck_backend_claude.claude.settings import settings_of
from holodeck_backend_claude.claude.settings.environment import values_of
from holodeck_backend_claude.claude.subagents import VARIABLES as SUBAGENT_VARIABLES
from holodeck_backend_claude.claude.telemetry import telemetry_variables
from holodeck_backend_claude.contract import BackendInitError
from holodeck_backend_claude.redaction import passwords_in, remember_secrets

if TYPE_CHECKING:
    from holodeck_backend_claude.config import Agent

# What any program needs to find programs, speak the user's language and reach the network.
_FROM_HOST = frozenset(
    {
        "PATH", "LANG", "LANGUAGE", "TZ", "SHELL", "USER", "LOGNAME",
        "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
        "http_proxy", "https_proxy", "no_proxy", "all_proxy",
    }
)  # fmt: skip
_FILES = frozenset(
    {
        "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE", "AWS_CA_BUNDLE",
    }
)  # fmt: skip

# What the SDK itself adds for its child.
_FROM_SDK = frozenset(
    {
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_AGENT_SDK_VERSION",
        "CLAUDE_CODE_SDK_READS_SESSION_STATE",
        "PWD",
    }
)

# Keeps the host and the network out: no memory files, no files read because a message mentions
# "@path", no update check, no telemetry to Anthropic.
_ALWAYS = {
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    # a turn that has ended is in the transcript, so that another process can take it up
    "CLAUDE_CODE_EAGER_FLUSH": "1",
    # an MCP server that it starts gets a few harmless variables and those of its own
    "CLAUDE_CODE_MCP_ALLOWLIST_ENV": "1",
}


def check_environment(agent: Agent, host: Mapping[str, str]) -> None:
    """Refuse at the start what no process of the agent could be started with.

    Raises:
        BackendInitError: A credential is missing, or ``claude.env`` names what is not its to set.
    """
    child_environment(agent, host, Path())


def child_environment(agent: Agent, host: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The complete environment of one Claude Code process, but for what the SDK adds.

    Args:
        agent: Gives credential, endpoint, limits and further variables.
        host: The host's environment; only names on the allowlist are taken from it.
        folder: The private folder that stands in for home, configuration and temporary files.

    Raises:
        BackendInitError: See :func:`check_environment`.
    """
    credentials = find_credentials(agent, host)
    settings = settings_of(agent)
    environment = {
        **_ALWAYS,
        **credentials.variables,
        "HOME": str(folder),
        "TMPDIR": str(folder / "tmp"),
        "CLAUDE_CONFIG_DIR": str(folder / "config"),
        "CLAUDE_CODE_MAX_RETRIES": str(agent.execution.max_retries),
        "API_TIMEOUT_MS": str(round(agent.execution.llm_timeout * 1_000)),
        **SUBAGENT_VARIABLES,
        **model_variables(agent, settings),
        **telemetry_variables(agent),
    }
    own = values_of(settings.env)
    remember_secrets(own.values())
    remember_secrets(password for value in own.values() for password in passwords_in(value))
    taken = own.keys() & (environment.keys() | credentials.reserved)
    if taken:
        raise BackendInitError(
            f"claude.env cannot set {', '.join(sorted(taken))}: this package sets it itself for "
            "the model or its limits. Remove it from claude.env; model and execution in "
            "agent.yaml, and the environment, say it instead."
        )
    return _of_host(host) | own | environment


def _of_host(host: Mapping[str, str]) -> dict[str, str]:
    """What any program may know; files by their whole path, as the process runs elsewhere."""
    return {
        name: str(Path(value).absolute()) if value and name in _FILES else value
        for name, value in sorted(host.items())
        if name in _FROM_HOST | _FILES or name.startswith("LC_")
    }


def kept_names(environment: Mapping[str, str]) -> frozenset[str]:
    """The names the launcher lets through: those given, and those the SDK adds."""
    return frozenset(environment) | _FROM_SDK
