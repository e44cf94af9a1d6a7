"""The model is asked at its address with its key; a missing one fails initialization."""

from __future__ import annotations

import logging

import pytest

from holodeck_backend_claude.config import Instructions
from holodeck_backend_claude.contract import BackendInitError, BackendSessionError
from holodeck_backend_claude.sk.backend import SKBackend
from holodeck_backend_claude.testing import ScriptedOpenAIAPI, call_tool, say
from tests.support.probes import Probe, registry_of

from .lab import Lab

VARIABLES = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_API_KEY", "OLLAMA_HOST")


@pytest.fixture(autouse=True)
def _no_keys_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


async def test_a_missing_key_is_refused_before_anything_opens(lab: Lab) -> None:
    backend = SKBackend(lab.agent(None, model={"api_key": None}), registry_of())
    with pytest.raises(BackendInitError, match=r"OPENAI_API_KEY.*model\.api_key"):
        await backend.initialize()


async def test_the_key_and_address_of_the_environment_are_used(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = await lab.api([say("Hi.")])
    for name, value in api.env().items():
        monkeypatch.setenv(name, value)
    backend = await lab.backend(api, model={"api_key": None, "endpoint": None})
    assert (await backend.invoke_once("Hi")).response == "Hi."


async def test_a_provider_of_another_format_is_refused_with_those_that_work(lab: Lab) -> None:
    backend = SKBackend(lab.agent(None, model={"provider": "anthropic"}), registry_of())
    with pytest.raises(BackendInitError, match=r"anthropic.*openai, azure_openai and ollama"):
        await backend.initialize()


async def test_a_way_to_reach_claude_is_refused_and_the_usual_key_is_not(lab: Lab) -> None:
    api = await lab.api([say("ok")])
    for way in ("oauth_token", "bedrock", "vertex", "foundry", "custom"):
        with pytest.raises(BackendInitError, match=rf"auth_provider: {way} .* remove auth_provide"):
            await lab.backend(api, model={"auth_provider": way})
    backend = await lab.backend(api, model={"auth_provider": "api_key"})
    assert (await backend.invoke_once("Hi")).response == "ok"


class AzureAPI(ScriptedOpenAIAPI):
    """The same API under Azure's path."""

    model_path = "/openai/deployments/my-deployment/chat/completions"


async def test_azure_is_asked_at_its_path_with_its_key_and_version(lab: Lab) -> None:
    kb = Probe()
    async with AzureAPI([call_tool("kb_search", {"query": "x"}), say("Found.")]) as api:
        backend = await lab.backend(
            api,
            kb,
            model={
                "provider": "azure_openai",
                "name": "my-deployment",
                "endpoint": api.url,
                "api_key": "azure-key",
                "api_version": "2024-10-21",
                "temperature": 0.5,
            },
        )
        result = await backend.invoke_once("Look.")
        assert (result.response, result.is_error) == ("Found.", False)
        assert len(kb.calls) == 1
        assert api.requests[0].headers["api-key"] == "azure-key"
        assert api.requests[0].body["temperature"] == 0.5
        assert result.token_usage["total_tokens"] == 30


async def test_ollama_is_asked_in_openai_s_format(lab: Lab) -> None:
    kb = Probe()
    api = await lab.api([call_tool("kb_search", {"query": "x"}), say("Found.")])
    backend = await lab.backend(
        api, kb, model={"provider": "ollama", "endpoint": api.url, "api_key": None}
    )
    assert (await backend.invoke_once("Look.")).response == "Found."
    assert len(kb.calls) == 1


async def test_settings_without_effect_are_named_once(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="holodeck_backend_claude")
    _, backend = await lab.run([say("1"), say("2")], model={"api_version": "1"})
    await backend.invoke_once("Hi")
    await backend.invoke_once("Hi")
    assert [r.getMessage() for r in caplog.records] == [
        "model.api_version has no effect with the provider 'openai'"
    ]


async def test_a_backend_that_is_not_initialized_says_so(lab: Lab) -> None:
    backend = SKBackend(lab.agent(None), registry_of())
    for use in (backend.invoke_once("Hi"), backend.create_session()):
        with pytest.raises(BackendSessionError, match=r"initialize\(\)"):
            await use
    await backend.teardown()


async def test_a_tool_that_cannot_be_offered_fails_initialization_and_nothing_stays_open(
    lab: Lab,
) -> None:
    clash = [Probe("suche_ä"), Probe("suche_ä")]
    backend = SKBackend(lab.agent(None, *clash), registry_of(*clash))
    with pytest.raises(BackendInitError, match="suche_ä"):
        await backend.initialize()
    with pytest.raises(BackendSessionError):
        await backend.create_session()


async def test_an_instructions_file_that_is_gone_fails_initialization(lab: Lab) -> None:
    lab.folder.joinpath("prompt.md").write_text("Be brief.")
    agent = lab.agent(None, instructions=Instructions(file="prompt.md"))
    lab.folder.joinpath("prompt.md").unlink()
    backend = SKBackend(agent, registry_of())
    with pytest.raises(BackendInitError, match=r"prompt\.md"):
        await backend.initialize()


async def test_initialize_and_teardown_may_be_repeated(lab: Lab) -> None:
    _, backend = await lab.run([say("Hi."), say("Again.")])
    await backend.initialize()
    assert (await backend.invoke_once("Hi")).response == "Hi."
    await backend.teardown()
    await backend.initialize()
    assert (await backend.invoke_once("Hi")).response == "Again."


async def test_context_of_another_shape_is_refused(lab: Lab) -> None:
    _, backend = await lab.run([])
    with pytest.raises(ValueError, match=r"context\[0\]"):
        await backend.invoke_once("Hi", context=[{"role": "system", "content": "x"}])
