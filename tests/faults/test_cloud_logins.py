"""The login of a cloud is not there, or gives no credential when the model is asked."""

from __future__ import annotations

import os

from holodeck_backend_claude.claude.backend import ClaudeBackend
from tests.faults.lab import FaultLab, each, ended, refusal
from tests.faults.registry import fault
from tests.faults.test_parts import INIT
from tests.support.probes import registry_of

PLACES = {
    "bedrock": {"AWS_REGION": "eu-west-1"},
    "vertex": {"CLOUD_ML_REGION": "europe-west1", "ANTHROPIC_VERTEX_PROJECT_ID": "p"},
    "foundry": {"ANTHROPIC_FOUNDRY_RESOURCE": "r"},
}
OF_THE_HOST = ("AWS_", "GOOGLE_", "GCLOUD_", "AZURE_", "ANTHROPIC_", "CLAUDE_", "IDENTITY_")
NOWHERE = "http://127.0.0.1:9"


def backend(lab: FaultLab, provider: str, variables: dict[str, str]) -> ClaudeBackend:
    """One on a host that has these variables for it, and an empty home."""
    for name in [name for name in os.environ if name.startswith(OF_THE_HOST)]:
        lab.monkeypatch.delenv(name)
    for name, value in {"HOME": str(lab.folder), **PLACES[provider], **variables}.items():
        lab.monkeypatch.setenv(name, value)
    model = {"endpoint": NOWHERE, "api_key": None, "auth_provider": provider}
    return ClaudeBackend(lab.agent(None, model=model, execution={"max_retries": 0}), registry_of())


@fault(
    "part",
    "no credential for the cloud is set: the error says what to set",
    dict.fromkeys(PLACES, INIT),
)
async def test_cloud_has_no_credential(lab: FaultLab) -> dict[str, str]:
    says = {
        "bedrock": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        "vertex": "GOOGLE_APPLICATION_CREDENTIALS",
        "foundry": "ANTHROPIC_FOUNDRY_API_KEY",
    }

    async def try_one(provider: str) -> str:
        error = await refusal(backend(lab, provider, {}).initialize())
        assert says[provider] in str(error)
        return type(error).__name__

    return await each(tuple(PLACES), try_one)


@fault(
    "part",
    "the login of a cloud is set, and gives no credential when the model is asked",
    dict.fromkeys(PLACES, "authentication failed"),
)
async def test_cloud_login_gives_nothing(lab: FaultLab) -> dict[str, str]:
    (lab.folder / ".aws").mkdir()
    (lab.folder / ".aws" / "config").write_text("[profile work]\nregion = eu-west-1\n")
    (lab.folder / "login.json").write_text("{}")
    variables = {
        "bedrock": {"AWS_PROFILE": "work"},
        "vertex": {"GOOGLE_APPLICATION_CREDENTIALS": str(lab.folder / "login.json")},
        # nobody answers for the domain of the login: it cannot be resolved
        "foundry": {
            "AZURE_TENANT_ID": "t",
            "AZURE_CLIENT_ID": "c",
            "AZURE_CLIENT_SECRET": "a-secret-0001",
        },
    }

    async def try_one(provider: str) -> str:
        asked = backend(lab, provider, variables[provider])
        lab.stack.push_async_callback(asked.teardown)
        await asked.initialize()
        result = await asked.invoke_once("Hi")
        assert result.error_detail
        assert "a-secret-0001" not in result.error_detail
        return ended(result)

    return await each(tuple(PLACES), try_one)
