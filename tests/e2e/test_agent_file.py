"""What an agent.yaml says about the model's instructions is on the wire, on both backends."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from holodeck_backend_claude import open_agent
from holodeck_backend_claude.testing import ScriptedMessagesAPI, ScriptedOpenAIAPI, say

from .lab import Lab

AGENT = """\
name: helper
model: {{provider: {provider}, name: some-model, api_key: sk-key-of-a-test, endpoint: "{endpoint}"}}
instructions: {{file: prompts/system.md}}
"""
# With the byte order mark that some editors write, quotes, template marks and further scripts.
PROMPT = '\ufeff\n# Rôle\n\nSay "yes", {{nothing}} else; 漢字 $HOME <b>\\n</b>.\n\n'
ON_THE_WIRE = PROMPT.lstrip("\ufeff").strip()


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
@pytest.mark.usefixtures("lab")  # which sees that nothing is left behind
async def test_instructions_in_a_file_reach_the_model_word_for_word(
    tmp_path: Path, provider: str
) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "system.md").write_text(PROMPT, encoding="utf-8")
    api_type = ScriptedMessagesAPI if provider == "anthropic" else ScriptedOpenAIAPI
    async with api_type([say("one"), say("two")]) as api:
        endpoint = api.base_url if isinstance(api, ScriptedOpenAIAPI) else api.url
        path = tmp_path / "agent.yaml"
        path.write_text(AGENT.format(provider=provider, endpoint=endpoint), encoding="utf-8")
        async with open_agent(path) as backend:
            assert (await backend.invoke_once("Hi")).response == "one"
            session = await backend.create_session()
            assert (await session.send("Hi")).response == "two"
            await session.close()
    for request in api.requests:
        assert request.system.endswith(ON_THE_WIRE)
        assert request.system.count("Rôle") == 1


async def test_an_api_version_that_claude_has_no_use_for_is_reported_once_and_harms_nothing(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    api = await lab.api([say("ok")])
    with caplog.at_level(logging.WARNING):
        backend = await lab.backend(api, model={"api_version": "2024-10-21"})
        assert (await backend.invoke_once("Hi")).response == "ok"
    [told] = [r.getMessage() for r in caplog.records if "no effect" in r.getMessage()]
    assert told.startswith("model.api_version has no effect on the Claude backend")
    assert "2024-10-21" not in str(api.requests[0].body)
