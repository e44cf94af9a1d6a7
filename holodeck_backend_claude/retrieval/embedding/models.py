"""Which embedding models services have, and what tells one model from another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holodeck_backend_claude.config import EmbeddingProviderConfig
from holodeck_backend_claude.connections import Connection, find_connection
from holodeck_backend_claude.contract import ConfigError

_MOST_DIMENSIONS = 3_072

_DEFAULT_NAMES = {
    "azure_openai": None,
    "google": "gemini-embedding-001",
    "huggingface": None,
    "mistral": "mistral-embed",
    "ollama": "nomic-embed-text",
    "openai": "text-embedding-3-small",
}
"""Every service, with the model where agent.yaml names none; where there is none it has to."""

_NEEDED = {
    "azure_openai": "the name of the embedding deployment",
    "huggingface": "the model that its server runs",
}


@dataclass(frozen=True)
class ServiceModel:
    """One embedding model of a service.

    Attributes:
        provider: The service's name in agent.yaml.
        name: The provider's name of the model; with Azure that of the deployment.
        connection: How it is reached.
        dimensions: Length of the vectors; None leaves it to the model.
    """

    provider: str
    name: str
    connection: Connection
    dimensions: int | None = None

    @property
    def fingerprint(self) -> str:
        """Names the model, not the way to reach it: no key, no API version."""
        address = self.connection.endpoint
        return f"{self.provider}/{address}/{self.name}/{self.dimensions or 'default'}"


def service_model(config: EmbeddingProviderConfig, environment: Mapping[str, str]) -> ServiceModel:
    """The embedding model that agent.yaml asks for, and the environment where it says no more.

    Raises:
        ConfigError: The provider is unknown, or lacks a setting.
    """
    if config.provider not in _DEFAULT_NAMES:
        raise ConfigError(
            f"embedding_provider.provider: {config.provider!r} is not known; known are 'local', "
            f"{', '.join(map(repr, _DEFAULT_NAMES))}"
        )
    if (config.dimensions or 0) > _MOST_DIMENSIONS:
        raise ConfigError(
            f"embedding_provider.dimensions: {config.dimensions} is more than {_MOST_DIMENSIONS}"
        )
    if config.api_version is not None and config.provider != "azure_openai":
        raise ConfigError(
            f"embedding_provider.api_version: {config.provider!r} has no API versions; leave it out"
        )
    name = config.name or _DEFAULT_NAMES[config.provider]
    if name is None:
        raise ConfigError(
            f"embedding_provider.name: {config.provider!r} needs {_NEEDED[config.provider]}"
        )
    if config.dimensions is not None and config.provider == "mistral":
        raise ConfigError("embedding_provider.dimensions: 'mistral' takes none; leave it out")
    connection = find_connection(config, environment, block="embedding_provider")
    return ServiceModel(config.provider, name, connection, config.dimensions)
