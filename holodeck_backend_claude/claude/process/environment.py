"""Which variables the Claude Code process gets: an allowlist, ours, and the credentials."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from holodeck_backend_claude.claude.model_settings import model_variables
from holodeck_backend_claude.claude.options import settings_of
from holodeck_backend_claude.claude.subagents import VARIABLES as SUBAGENT_VARIABLES
from holodeck_backend_claude.connections import NOT_SENDABLE, is_sendable
from holodeck_backend_claude.contract import BackendInitError

if TYPE_CHECKING:
    from pydantic import SecretStr

    from holodeck_backend_claude.config import Agent

# What any program needs to find programs, speak the user's language and reach the network.
_FROM_HOST = frozenset(
    {
        "PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ", "SHELL", "USER",
        "LOGNAME", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy",
        "https_proxy", "no_proxy", "all_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
        "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
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
# "@path", no update check, no telemetry.
_ALWAYS = {
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    # a turn that has ended is in the transcript, so that another process can take it up
    "CLAUDE_CODE_EAGER_FLUSH": "1",
}

# auth_provider -> the variable the child reads
_CREDENTIALS = {
    "api_key": "ANTHROPIC_API_KEY",
    "oauth_token": "CLAUDE_CODE_OAUTH_TOKEN",
}


def credential(agent: Agent, host: Mapping[str, str]) -> tuple[str, str]:
    """The variable that carries the agent's credential, and its value.

    Args:
        agent: Its ``model.api_key`` wins over the host's variable.
        host: The host's environment.

    Raises:
        BackendInitError: There is no credential, or one that cannot be sent; it is not shown.
    """
    provider = agent.model.auth_provider or "api_key"
    variable = _CREDENTIALS[provider]
    own = _secret(agent.model.api_key)
    value = (own or host.get(variable, "")).strip()
    if not value:
        raise BackendInitError(
            f"no credential for Claude: set {variable} in the environment (or in .env beside "
            f"agent.yaml), or model.api_key in agent.yaml. To try the agent without one, add "
            f"--offline."
        )
    if not is_sendable(value):
        raise BackendInitError(
            f"the credential for Claude in {'model.api_key' if own else variable} {NOT_SENDABLE}"
        )
    return variable, value


def _secret(value: SecretStr | None) -> str:
    return value.get_secret_value() if value else ""


def child_environment(agent: Agent, host: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The complete environment of one Claude Code process, but for what the SDK adds.

    Args:
        agent: Gives credential, endpoint and limits.
        host: The host's environment; only names on the allowlist are taken from it.
        folder: The private folder that stands in for home, configuration and temporary files.
    """
    variable, value = credential(agent, host)
    environment = {name: host[name] for name in sorted(_FROM_HOST & host.keys())}
    environment |= _ALWAYS
    environment |= {
        variable: value,
        "HOME": str(folder),
        "TMPDIR": str(folder / "tmp"),
        "CLAUDE_CONFIG_DIR": str(folder / "config"),
        "CLAUDE_CODE_MAX_RETRIES": str(agent.execution.max_retries),
        "API_TIMEOUT_MS": str(round(agent.execution.llm_timeout * 1_000)),
    }
    endpoint = agent.model.endpoint or host.get("ANTHROPIC_BASE_URL")
    if endpoint:
        environment["ANTHROPIC_BASE_URL"] = endpoint
    return environment | SUBAGENT_VARIABLES | model_variables(agent, settings_of(agent))


def kept_names(environment: Mapping[str, str]) -> frozenset[str]:
    """The names the launcher lets through: those given, and those the SDK adds."""
    return frozenset(environment) | _FROM_SDK
