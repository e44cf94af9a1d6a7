"""Where a model of OpenAI's format is reached and with which key: agent.yaml, then environment.

One rule for chat models and for embeddings, so that a key or address that works for one works for
the other.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import unquote_to_bytes, urlsplit

from holodeck_backend_claude.contract import ConfigError
from holodeck_backend_claude.redaction import passwords_in, remember_secrets

if TYPE_CHECKING:
    from holodeck_backend_claude.config import EmbeddingProviderConfig, ModelConfig

Block: TypeAlias = Literal["model", "embedding_provider"]
"""The block of agent.yaml that is meant, for the words of an error."""

OPENAI_URL = "https://api.openai.com/v1"
GOOGLE_URL = "https://generativelanguage.googleapis.com/v1beta/openai"
MISTRAL_URL = "https://api.mistral.ai/v1"
OLLAMA_HOST = "127.0.0.1"
OLLAMA_PORT = 11434
AZURE_API_VERSION = "2024-10-21"

NOT_SENDABLE = (
    "holds a character that no key has: a control character, a line break or one outside ASCII. "
    "Copy the key again."
)
"""What is wrong with a key that is not sendable, and what to do."""

_PORT = re.compile(r":\d+$")
_OTHERWISE = {"model": "", "embedding_provider": " The provider 'local' needs none."}


@dataclass(frozen=True)
class Connection:
    """How to reach a model.

    Attributes:
        endpoint: Base URL of the API, without user and password: clients log it.
        api_key: The key; never shown.
        api_version: On Azure, the version of the API.
        headers: Sent with each request; they say what user and password in the address said.
    """

    endpoint: str
    api_key: str = field(repr=False)
    api_version: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def find_connection(
    config: ModelConfig | EmbeddingProviderConfig,
    environment: Mapping[str, str],
    *,
    block: Block = "model",
) -> Connection:
    """How the model of a block is reached.

    What agent.yaml says goes before the environment variables of the provider. The key and a
    password in the address are masked from now on.

    Args:
        config: The block.
        environment: The variables of the agent, see ``Agent.environment()``.
        block: Its key in agent.yaml.

    Raises:
        ConfigError: A key or address is missing, or the provider is not known here.
    """
    asked = _Asked(config, environment, block)
    known = _FINDERS if block == "embedding_provider" else _CHAT_FINDERS
    find = known.get(config.provider)
    if find is None:
        *names, last = known
        raise ConfigError(
            f"{block}.provider '{config.provider}' has no API of OpenAI's format. Known are "
            f"{', '.join(names)} and {last}, and any other server of that format as openai with "
            f"{block}.endpoint."
        )
    return find(asked)


def is_sendable(key: str) -> bool:
    """Whether a key can be sent in a header of HTTP.

    To be asked early: a client that finds out by itself shows the header in its error.
    """
    return key.isascii() and key.isprintable()


def is_on_this_machine(endpoint: str) -> bool:
    """Whether an address is of loopback, which no proxy leads to."""
    host = urlsplit(endpoint).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


@dataclass(frozen=True)
class _Asked:
    """What agent.yaml says about a model, and the environment."""

    config: ModelConfig | EmbeddingProviderConfig
    environment: Mapping[str, str]
    block: Block

    def key(self, variable: str) -> str:
        own = self.config.api_key
        key = own.get_secret_value() if own else self.environment.get(variable, "")
        if not key.strip():
            raise ConfigError(
                f"No API key for {self}. Set the environment variable {variable}, or "
                f"{self.block}.api_key in agent.yaml.{_OTHERWISE[self.block]}"
            )
        place = f"{self.block}.api_key" if own else f"the environment variable {variable}"
        return self._sendable(key.strip(), place)

    def own_key(self) -> str | None:
        own = self.config.api_key
        return self._sendable(own.get_secret_value(), f"{self.block}.api_key") if own else None

    def _sendable(self, key: str, place: str) -> str:
        if not is_sendable(key):
            raise ConfigError(f"The API key of {self} in {place} {NOT_SENDABLE}")
        return key

    def address(self, variable: str) -> str | None:
        own = self.config.endpoint
        given = (own or self.environment.get(variable) or "").strip().rstrip("/")
        if given and "://" not in given:
            place = f"{self.block}.endpoint" if own else f"the environment variable {variable}"
            raise ConfigError(
                f"The address of {self} in {place}, {given!r}, has no scheme. Begin it with "
                "https://, or with http:// where the key may travel unencrypted."
            )
        return given or None

    def __str__(self) -> str:
        return f"{self.block}.provider '{self.config.provider}'"


def _at(url: str, *, address: str, key: str) -> Callable[[_Asked], Connection]:
    """A provider with an address of its own, and the variables for another one and for the key."""
    return lambda asked: _connection(asked.address(address) or url, asked.key(key))


def _huggingface(asked: _Asked) -> Connection:
    """A server of Hugging Face's Text Embeddings Inference, yours or a hosted endpoint."""
    endpoint = asked.address("HF_ENDPOINT_URL")
    if endpoint is None:
        raise ConfigError(
            f"No address for {asked}. Set {asked.block}.endpoint in agent.yaml to the server of "
            "Text Embeddings Inference, such as http://127.0.0.1:8080/v1."
        )
    return _connection(endpoint, asked.own_key() or asked.environment.get("HF_TOKEN") or "none")


def _azure(asked: _Asked) -> Connection:
    key = asked.key("AZURE_OPENAI_API_KEY")
    endpoint = asked.address("AZURE_OPENAI_ENDPOINT")
    if endpoint is None:
        raise ConfigError(
            f"No address for {asked}. Set {asked.block}.endpoint in agent.yaml or the environment "
            "variable AZURE_OPENAI_ENDPOINT to https://<resource>.openai.azure.com."
        )
    version = (
        asked.config.api_version
        or asked.environment.get("AZURE_OPENAI_API_VERSION")
        or asked.environment.get("OPENAI_API_VERSION")
        or AZURE_API_VERSION
    )
    return _connection(endpoint, key, version)


def _ollama(asked: _Asked) -> Connection:
    """Ollama asks for no key, and speaks OpenAI's format below ``/v1``."""
    key = asked.own_key() or "ollama"
    given = asked.config.endpoint or asked.environment.get("OLLAMA_HOST") or OLLAMA_HOST
    root = given.strip().rstrip("/").removesuffix("/v1")
    if "://" not in root:  # as Ollama itself reads it: a host, with its port unless one is given
        host, slash, path = root.partition("/")
        port = "" if _PORT.search(host) else f":{OLLAMA_PORT}"
        root = f"http://{host}{port}{slash}{path}"
    return _connection(f"{root}/v1", key)


_CHAT_FINDERS: Mapping[str, Callable[[_Asked], Connection]] = {
    "openai": _at(OPENAI_URL, address="OPENAI_BASE_URL", key="OPENAI_API_KEY"),
    "azure_openai": _azure,
    "ollama": _ollama,
}
_FINDERS: Mapping[str, Callable[[_Asked], Connection]] = {
    **_CHAT_FINDERS,
    "google": _at(GOOGLE_URL, address="GEMINI_BASE_URL", key="GEMINI_API_KEY"),
    "mistral": _at(MISTRAL_URL, address="MISTRAL_BASE_URL", key="MISTRAL_API_KEY"),
    "huggingface": _huggingface,
}


def _connection(address: str, key: str, version: str | None = None) -> Connection:
    remember_secrets((key, *passwords_in(address)))
    scheme, _, rest = address.partition("://")
    place, slash, path = rest.partition("/")
    login, at, host = place.rpartition("@")
    if not at:
        return Connection(address, key, version)
    whole = login if ":" in login else f"{login}:"
    sent = base64.b64encode(unquote_to_bytes(whole)).decode("ascii")
    headers = {"Authorization": f"Basic {sent}"}
    return Connection(f"{scheme}://{host}{slash}{path}", key, version, headers)
