"""Where the model is reached and with which key: from agent.yaml and the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from holodeck_backend_claude.config import ModelConfig
from holodeck_backend_claude.contract import BackendInitError

OLLAMA_URL = "http://127.0.0.1:11434"


@dataclass(frozen=True)
class Connection:
    """How to reach a model.

    Attributes:
        api_key: The key; never shown.
        endpoint: Base URL of the API; None is the provider's own.
        api_version: On Azure, the version of the API.
    """

    api_key: str
    endpoint: str | None = None
    api_version: str | None = None

    def __repr__(self) -> str:
        return f"Connection(endpoint={self.endpoint!r}, api_version={self.api_version!r})"


def find_connection(model: ModelConfig, environment: Mapping[str, str]) -> Connection:
    """How the model of an agent is reached.

    What agent.yaml says goes before the environment variables of the provider.

    Raises:
        BackendInitError: A key or address is missing, or the provider is not supported.
    """
    match model.provider:
        case "openai":
            return _openai(model, environment)
        case "azure_openai":
            return _azure(model, environment)
        case "ollama":
            return _ollama(model, environment)
        case other:
            raise BackendInitError(
                f"The backend 'semantic-kernel' cannot run model.provider '{other}'. It runs "
                "openai, azure_openai and ollama, and any server of OpenAI's format as openai "
                "with model.endpoint."
            )


def settings_without_effect(model: ModelConfig) -> list[str]:
    """What agent.yaml says about the model that its provider has no use for here."""
    unused = []
    if model.api_version is not None and model.provider != "azure_openai":
        unused.append("model.api_version")
    if model.auth_provider is not None:
        unused.append("model.auth_provider")
    return unused


def _openai(model: ModelConfig, environment: Mapping[str, str]) -> Connection:
    endpoint = model.endpoint or environment.get("OPENAI_BASE_URL") or None
    return Connection(_key(model, environment, "OPENAI_API_KEY"), endpoint)


def _azure(model: ModelConfig, environment: Mapping[str, str]) -> Connection:
    key = _key(model, environment, "AZURE_OPENAI_API_KEY")
    endpoint = model.endpoint or environment.get("AZURE_OPENAI_ENDPOINT")
    version = (
        model.api_version
        or environment.get("AZURE_OPENAI_API_VERSION")
        or environment.get("OPENAI_API_VERSION")
    )
    if not endpoint:
        raise BackendInitError(
            "No address for model.provider 'azure_openai'. Set model.endpoint in agent.yaml or "
            "the environment variable AZURE_OPENAI_ENDPOINT to https://<resource>.openai.azure.com."
        )
    if not version:
        raise BackendInitError(
            "No API version for model.provider 'azure_openai'. Set model.api_version in agent.yaml "
            "or the environment variable AZURE_OPENAI_API_VERSION, for example to '2024-10-21'."
        )
    return Connection(key, endpoint, version)


def _ollama(model: ModelConfig, environment: Mapping[str, str]) -> Connection:
    address = model.endpoint or environment.get("OLLAMA_HOST") or OLLAMA_URL
    if "://" not in address:
        address = f"http://{address}"
    if urlsplit(address).path in {"", "/"}:
        address = f"{address.rstrip('/')}/v1"  # where Ollama speaks OpenAI's format
    key = model.api_key.get_secret_value() if model.api_key else "ollama"  # it asks for none
    return Connection(key, address)


def _key(model: ModelConfig, environment: Mapping[str, str], variable: str) -> str:
    key = model.api_key.get_secret_value() if model.api_key else environment.get(variable, "")
    if not key.strip():
        raise BackendInitError(
            f"No API key for model.provider '{model.provider}'. Set the environment variable "
            f"{variable}, or model.api_key in agent.yaml."
        )
    return key.strip()
