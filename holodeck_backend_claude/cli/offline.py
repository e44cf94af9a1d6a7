"""``--offline``: the agent runs as it is, but its model is a script on this machine.

Nothing is billed and nothing asks for a key: the model's address and key are replaced, whatever
agent.yaml and the environment say, and the agent runs with the variables that cannot lead a request
elsewhere. The environment of this process stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from holodeck_backend_claude.contract import ConfigError

if TYPE_CHECKING:
    from holodeck_backend_claude.config import Agent
    from holodeck_backend_claude.registry import Registry
    from holodeck_backend_claude.testing import ScriptedMessagesAPI, ScriptedOpenAIAPI

KEY = "offline-no-key"
LOCAL = "local"

# What tells a model client where to send a request, or with whose key.
_LEADS_ELSEWHERE = re.compile(
    r"(?:https?|all|no)_proxy|(?:anthropic|claude|openai|azure_openai|ollama)_.*",
    re.IGNORECASE,
)


@asynccontextmanager
async def run_offline(agent: Agent, registry: Registry) -> AsyncIterator[Agent]:
    """Start the scripted model of an agent's backend, and yield the agent that runs on it.

    Raises:
        ConfigError: The agent's backend is one that this program cannot point elsewhere.
    """
    from holodeck_backend_claude.testing import offline_model

    backend = _backend(agent, registry)
    api = _scripted_apis()[backend](partial(offline_model, form=agent.response_schema()))
    async with api:
        yield _redirected(agent, backend, api)


def _scripted_apis() -> dict[str, type[ScriptedMessagesAPI] | type[ScriptedOpenAIAPI]]:
    """What stands in for the model, by the backend that asks it."""
    from holodeck_backend_claude.testing import ScriptedMessagesAPI, ScriptedOpenAIAPI

    return {"claude": ScriptedMessagesAPI, "semantic-kernel": ScriptedOpenAIAPI}


def _backend(agent: Agent, registry: Registry) -> str:
    """The agent's backend, if it is one of ours: others may reach their models as they please."""
    from holodeck_backend_claude.plugins import OWN_DISTRIBUTION

    choice = registry.choose(agent.backend, agent.model.provider)
    provided = choice.provided
    if provided is None:
        why = choice.absent or f"known: {', '.join(choice.known) or 'none'}"
        raise ConfigError(
            f"no loaded plugin brings the {choice.kind} {choice.name!r} of the agent "
            f"{agent.name!r}; {why}"
        )
    name = provided.value.name
    if provided.origin.distribution != OWN_DISTRIBUTION or name not in _scripted_apis():
        raise ConfigError(
            f"--offline cannot run the backend {name!r} of {provided.origin}: only that plugin "
            "knows how its model is reached. Run it without --offline."
        )
    return name


def _redirected(agent: Agent, backend: str, api: ScriptedMessagesAPI | ScriptedOpenAIAPI) -> Agent:
    from pydantic import SecretStr

    from holodeck_backend_claude.testing import ScriptedOpenAIAPI

    model: dict[str, object] = {"api_key": SecretStr(KEY)}
    if isinstance(api, ScriptedOpenAIAPI):
        model |= {"provider": "openai", "endpoint": api.base_url}
    else:
        model |= {"endpoint": api.url}
    if agent.model.auth_provider is not None:  # only then: setting a key makes it count as given
        model["auth_provider"] = "api_key"
    variables = {
        name: SecretStr(value)
        for name, value in agent.environment().items()
        if not leads_elsewhere(name)
    }
    update = {
        "model": agent.model.model_copy(update=model),
        "backend": backend,
        "variables": variables,
    }
    if replaces_embeddings(agent):
        # A name of its own: its index must not take the place of the one with bought vectors.
        update |= {"embedding_provider": None, "name": f"{agent.name} (offline)"}
    return agent.model_copy(update=update)


def replaces_embeddings(agent: Agent) -> bool:
    """Whether an offline run makes its vectors locally where the agent would ask a service."""
    provider = agent.embedding_provider
    return provider is not None and provider.provider != LOCAL


def leads_elsewhere(name: str) -> bool:
    """Whether a variable tells a model client where to go or with whose key."""
    return _LEADS_ELSEWHERE.fullmatch(name) is not None
