"""Which embedding services there are, and what each needs from agent.yaml or the environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from holodeck_backend_claude.config import EmbeddingProviderConfig
from holodeck_backend_claude.contract import ConfigError

_MOST_DIMENSIONS = 3_072


@dataclass(frozen=True)
class ServiceSettings:
    """How to reach one embedding model.

    Attributes:
        provider: The name in agent.yaml.
        model: The provider's name of the model; with Azure that of the deployment.
        endpoint: Base URL of the API.
        api_key: The key.
        api_version: Azure only.
        dimensions: Length of the vectors; None leaves it to the model.
    """

    provider: str
    model: str
    endpoint: str
    api_key: str = field(repr=False)
    api_version: str | None = None
    dimensions: int | None = None

    @property
    def fingerprint(self) -> str:
        """Names the model, not the way to reach it: no key, no API version."""
        return f"{self.provider}/{self.endpoint}/{self.model}/{self.dimensions or 'default'}"


def service_settings(
    config: EmbeddingProviderConfig, environment: Mapping[str, str]
) -> ServiceSettings:
    """What agent.yaml and the environment say about an embedding service.

    Raises:
        ConfigError: The provider is unknown, or lacks a setting.
    """
    make = _PROVIDERS.get(config.provider)
    if make is None:
        raise ConfigError(
            f"embedding_provider.provider: {config.provider!r} is not known; known are 'local', "
            f"{', '.join(repr(name) for name in sorted(_PROVIDERS))}"
        )
    if (config.dimensions or 0) > _MOST_DIMENSIONS:
        raise ConfigError(
            f"embedding_provider.dimensions: {config.dimensions} is more than {_MOST_DIMENSIONS}"
        )
    if config.api_version is not None and make is not _azure_openai:
        raise ConfigError(
            f"embedding_provider.api_version: {config.provider!r} has no API versions; leave it out"
        )
    return make(config, environment)


def _openai(config: EmbeddingProviderConfig, environment: Mapping[str, str]) -> ServiceSettings:
    given = config.endpoint or environment.get("OPENAI_BASE_URL")
    return ServiceSettings(
        provider=config.provider,
        model=config.name or "text-embedding-3-small",
        endpoint=_endpoint(given or "https://api.openai.com/v1"),
        api_key=_key(config, environment, "OPENAI_API_KEY"),
        dimensions=config.dimensions,
    )


def _azure_openai(
    config: EmbeddingProviderConfig, environment: Mapping[str, str]
) -> ServiceSettings:
    given = config.endpoint or environment.get("AZURE_OPENAI_ENDPOINT")
    if not given:
        raise ConfigError(
            "embedding_provider.endpoint: 'azure_openai' needs the address of the resource, there "
            "or in the environment variable AZURE_OPENAI_ENDPOINT"
        )
    if not config.name:
        raise ConfigError(
            "embedding_provider.name: 'azure_openai' needs the name of the embedding deployment"
        )
    return ServiceSettings(
        provider=config.provider,
        model=config.name,
        endpoint=_endpoint(given),
        api_key=_key(config, environment, "AZURE_OPENAI_API_KEY"),
        api_version=config.api_version or "2024-10-21",
        dimensions=config.dimensions,
    )


def _ollama(config: EmbeddingProviderConfig, environment: Mapping[str, str]) -> ServiceSettings:
    """Ollama speaks the OpenAI API below ``/v1``."""
    given = _endpoint(config.endpoint or environment.get("OLLAMA_HOST") or "http://127.0.0.1:11434")
    return ServiceSettings(
        provider=config.provider,
        model=config.name or "nomic-embed-text",
        endpoint=given if given.endswith("/v1") else f"{given}/v1",
        api_key=config.api_key.get_secret_value() if config.api_key else "ollama",
        dimensions=config.dimensions,
    )


def _endpoint(given: str) -> str:
    url = given.strip().rstrip("/")
    return url if "://" in url else f"http://{url}"


def _key(config: EmbeddingProviderConfig, environment: Mapping[str, str], variable: str) -> str:
    key = config.api_key.get_secret_value() if config.api_key else environment.get(variable, "")
    if not key.strip():
        raise ConfigError(
            f"embedding_provider.api_key: {config.provider!r} needs a key, there or in the "
            f"environment variable {variable}; 'provider: local' needs none"
        )
    return key.strip()


_PROVIDERS: dict[str, Callable[[EmbeddingProviderConfig, Mapping[str, str]], ServiceSettings]] = {
    "azure_openai": _azure_openai,
    "ollama": _ollama,
    "openai": _openai,
}
