"""The lab of the Semantic Kernel backend."""

from __future__ import annotations

from holodeck_backend_claude.sk.backend import SKBackend
from holodeck_backend_claude.sk.settings import SKSettings
from holodeck_backend_claude.testing import ScriptedOpenAIAPI
from tests.support import lab

MODEL = "scripted-model"


class Lab(lab.Lab[ScriptedOpenAIAPI, SKBackend]):
    """An agent on Semantic Kernel, against a scripted OpenAI-compatible API on loopback."""

    api_type = ScriptedOpenAIAPI
    backend_type = SKBackend
    settings_key = "semantic_kernel"
    settings_type = SKSettings
    model = {"provider": "openai", "name": MODEL, "api_key": "scripted-no-key"}  # noqa: RUF012
    max_retries = 0

    def endpoint(self, api: ScriptedOpenAIAPI) -> str:
        return api.base_url
