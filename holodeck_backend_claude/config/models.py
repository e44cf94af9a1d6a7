"""What an agent.yaml may say, as pydantic models; every key here has an effect or is refused."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    Field,
    SecretStr,
    SerializeAsAny,
    field_validator,
    model_validator,
)

from holodeck_backend_claude.config.base import NonBlank, Number, Seconds, Secret, Strict, Whole
from holodeck_backend_claude.config.observability import ObservabilityConfig
from holodeck_backend_claude.config.paths import ExistingPath
from holodeck_backend_claude.config.response_format import ResponseFormat, response_schema
from holodeck_backend_claude.config.tool_models import ToolConfig
from holodeck_backend_claude.contract import ConfigError, JsonSchema

M = TypeVar("M", bound=BaseModel)


class ModelConfig(Strict):
    """``model:`` the language model.

    Attributes:
        provider: Decides the backend, unless ``backend:`` names one.
        name: The provider's name of the model.
        temperature: 0.0 to 2.0; None leaves it to the provider.
        max_tokens: The most tokens of one answer; None leaves it to the provider.
        top_p: Nucleus sampling, 0.0 to 1.0.
        endpoint: Base URL of the API, where it is not the provider's own.
        api_key: The key; otherwise the provider's environment variable is read.
        api_version: API version, for providers that have one.
        auth_provider: How the Claude backend authenticates.
    """

    provider: NonBlank
    name: NonBlank
    temperature: Number | None = Field(default=None, ge=0, le=2)
    max_tokens: Whole | None = Field(default=None, gt=0)
    top_p: Number | None = Field(default=None, ge=0, le=1)
    endpoint: NonBlank | None = None
    api_key: Secret | None = None
    api_version: NonBlank | None = None
    auth_provider: (
        Literal["api_key", "oauth_token", "bedrock", "vertex", "foundry", "custom"] | None
    ) = None


class EmbeddingProviderConfig(Strict):
    """``embedding_provider:`` who turns text into vectors.

    Attributes:
        provider: ``local`` needs no key and no network; others are embedding services.
        name: The provider's name of the embedding model.
        endpoint: Base URL of the API, where it is not the provider's own.
        api_key: The key; otherwise the provider's environment variable is read.
        api_version: API version, for providers that have one.
        dimensions: Length of the vectors, for models that can shorten them.
    """

    provider: Literal[
        "local", "openai", "azure_openai", "ollama", "google", "mistral", "huggingface"
    ] = "local"
    name: NonBlank | None = None
    endpoint: NonBlank | None = None
    api_key: Secret | None = None
    api_version: NonBlank | None = None
    dimensions: Whole | None = Field(default=None, gt=0)


class Instructions(Strict):
    """``instructions:`` the system prompt; exactly one of the two, or the text itself.

    Attributes:
        inline: The system prompt itself.
        file: A UTF-8 text file with the system prompt, relative to agent.yaml and in its folder.
    """

    inline: NonBlank | None = None
    file: Annotated[NonBlank, ExistingPath("text", inside=True)] | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Instructions:
        if (self.inline is None) == (self.file is None):
            raise ValueError("give either 'inline' or 'file', not both and not neither")
        return self


class ExecutionConfig(Strict):
    """``execution:`` limits of a turn.

    Attributes:
        llm_timeout: Seconds one turn may take, tools included.
        max_retries: How often a request that the provider refused for its own reasons (429,
            5xx, overloaded) is sent again.
    """

    llm_timeout: Seconds = 120.0
    max_retries: Whole = Field(default=3, ge=0, le=10)


class PluginsConfig(Strict):
    """``plugins:`` which plugins this agent may load, by distribution or entry-point name.

    Attributes:
        allow: If given, only these are loaded, beside the defaults.
        block: These are never loaded.
    """

    allow: tuple[NonBlank, ...] | None = None
    block: tuple[NonBlank, ...] = ()


class Agent(Strict):
    """A validated agent.

    Attributes:
        name: What the agent is called.
        description: What it is for.
        model: The language model.
        instructions: The system prompt.
        tools: The agent's tools; each item is the config class of its tool type.
        embedding_provider: Who makes the vectors of the search tools; None means ``local``.
        execution: Limits of a turn.
        backend: Name of the backend, where the model's provider is not to decide.
        plugins: Which plugins may load.
        observability: Traces, metrics and logs; None means off.
        response_format: A JSON Schema that the answer has to be of, or a file with one; None
            leaves the answer free.
        settings: The blocks that belong to a backend, by their key, e.g. ``claude``.
        base_dir: The folder that relative paths start from: that of agent.yaml.
        dotenv: The variables of the ``.env`` file beside agent.yaml.
        variables: All variables it runs with; None means those of this process, over ``dotenv``.
    """

    name: NonBlank
    description: str | None = None
    model: ModelConfig
    instructions: Instructions = Field(examples=["Answer in one sentence."])
    tools: tuple[SerializeAsAny[ToolConfig], ...] = ()
    embedding_provider: EmbeddingProviderConfig | None = None
    execution: ExecutionConfig = ExecutionConfig()
    backend: NonBlank | None = None
    plugins: PluginsConfig = PluginsConfig()
    observability: ObservabilityConfig | None = None
    response_format: ResponseFormat | None = None
    settings: dict[str, SerializeAsAny[BaseModel]] = Field(default_factory=dict)
    base_dir: Path = Path()
    dotenv: dict[str, SecretStr] = Field(default_factory=dict, exclude=True, repr=False)
    variables: dict[str, SecretStr] | None = Field(default=None, exclude=True, repr=False)

    @field_validator("instructions", mode="before")
    @classmethod
    def _text_is_inline(cls, value: Any) -> Any:
        return {"inline": value} if isinstance(value, str) else value

    def environment(self) -> dict[str, str]:
        """The variables this agent runs with."""
        if self.variables is not None:
            return _in_the_clear(self.variables)
        return {**_in_the_clear(self.dotenv), **os.environ}

    def system_prompt(self) -> str:
        """The text of the instructions, read from their file where they name one."""
        if self.instructions.inline is not None:
            return self.instructions.inline
        path = self.base_dir / (self.instructions.file or "")
        return path.read_text(encoding="utf-8-sig").strip()

    def response_schema(self) -> JsonSchema | None:
        """The checked schema that the answer has to be of, or None where it is free.

        Raises:
            ConfigError: The file cannot be read, or the schema is wrong.
        """
        return response_schema(self.response_format, self.base_dir)

    def settings_for(self, key: str, model: type[M]) -> M:
        """The block ``key`` of a backend, or what its model has by default where there is none.

        Args:
            key: The backend's ``settings_key``.
            model: The backend's ``settings``.

        Raises:
            ConfigError: There is no block and it has to say something, or it is of another model.
        """
        block = self.settings.get(key)
        if isinstance(block, model):
            return block
        if block is not None:
            raise ConfigError(
                f"the block {key!r} of the agent {self.name!r} is a {type(block).__name__}, not a "
                f"{model.__name__}"
            )
        required = [name for name, field in model.model_fields.items() if field.is_required()]
        if required:
            raise ConfigError(
                f"the agent {self.name!r} has no block {key!r}; add it to agent.yaml, with: "
                f"{', '.join(required)}"
            )
        return model()


def _in_the_clear(variables: Mapping[str, SecretStr]) -> dict[str, str]:
    return {name: value.get_secret_value() for name, value in variables.items()}
