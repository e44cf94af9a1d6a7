"""The chat service of a provider, and what agent.yaml asks of its requests."""

from __future__ import annotations

import re

from openai import AsyncAzureOpenAI, AsyncOpenAI, DefaultAsyncHttpxClient, Timeout

from holodeck_backend_claude.config import ModelConfig
from holodeck_backend_claude.connections import Connection, is_on_this_machine
from holodeck_backend_claude.contract import JsonSchema
from holodeck_backend_claude.sk._imports import (
    AzureChatPromptExecutionSettings,
    OpenAIChatPromptExecutionSettings,
)
from holodeck_backend_claude.sk.response_format import as_request_field
from holodeck_backend_claude.sk.service import AzureChat, ObservedChat, OpenAIChat

# The turn as a whole has the time limit; a connection that does not come about fails sooner.
_TIMEOUT = Timeout(None, connect=10.0)
_REASONING_MODEL = re.compile(r"(?:^|/)(?:o\d|gpt-[5-9])")


def chat_service(model: ModelConfig, connection: Connection) -> ObservedChat:
    """The service that asks the model; it opens no connection yet.

    The client retries nothing: retries are the service's, which bounds and reports them.
    """
    if model.provider == "azure_openai":
        return AzureChat(
            model.name,
            AsyncAzureOpenAI(
                api_key=connection.api_key,
                azure_endpoint=connection.endpoint,
                azure_deployment=model.name,
                api_version=connection.api_version,
                max_retries=0,
                timeout=_TIMEOUT,
                default_headers=connection.headers,
                http_client=_http_client(connection),
            ),
        )
    return OpenAIChat(
        model.name,
        AsyncOpenAI(
            api_key=connection.api_key,
            base_url=connection.endpoint,
            max_retries=0,
            timeout=_TIMEOUT,
            default_headers=connection.headers,
            http_client=_http_client(connection),
        ),
    )


def _http_client(connection: Connection) -> DefaultAsyncHttpxClient | None:
    """Straight to a server of this machine, whatever proxy the environment names."""
    if not is_on_this_machine(connection.endpoint):
        return None  # the client's own, which uses the proxy
    return DefaultAsyncHttpxClient(trust_env=False, timeout=_TIMEOUT)


def request_settings(
    model: ModelConfig, schema: JsonSchema | None = None
) -> OpenAIChatPromptExecutionSettings:
    """What every request says beside the conversation; what agent.yaml leaves out is not sent.

    Args:
        model: The agent's model.
        schema: The form that answers have to have; None leaves them free.
    """
    settings = (
        AzureChatPromptExecutionSettings()
        if model.provider == "azure_openai"
        else OpenAIChatPromptExecutionSettings()
    )
    settings.response_format = as_request_field(schema) if schema is not None else None
    settings.temperature = model.temperature
    settings.top_p = model.top_p
    if _REASONING_MODEL.search(model.name):
        settings.max_completion_tokens = model.max_tokens  # these refuse max_tokens
    else:
        settings.max_tokens = model.max_tokens
    return settings
