"""Every auth_provider as the place it leads to sees it: address, headers, signature, token."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from holodeck_backend_claude.claude.backend import ClaudeBackend
from tests.support.cloud_apis import TOKEN, CloudAPIs, Received
from tests.support.probes import registry_of

from .lab import MODEL, Lab

BEDROCK = f"/model/{MODEL}/invoke-with-response-stream"
VERTEX = f"/projects/p/locations/europe-west1/publishers/anthropic/models/{MODEL}:streamRawPredict"
AUDIENCE = "//iam.googleapis.com/locations/global/workforcePools/p/providers/x"
KEYS = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "aws-secret-0001"}
REGION = {"AWS_REGION": "eu-west-1"}
PROJECT = {"CLOUD_ML_REGION": "europe-west1", "ANTHROPIC_VERTEX_PROJECT_ID": "p"}


@pytest.fixture
def apis() -> Iterator[CloudAPIs]:
    with CloudAPIs() as running:
        yield running


@pytest.fixture(autouse=True)
def bare_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """No credential of the machine the tests run on."""
    for name in ("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


class Asking:
    """Asks one question with an auth_provider and returns the request that carried it."""

    def __init__(self, lab: Lab, apis: CloudAPIs, monkeypatch: pytest.MonkeyPatch) -> None:
        self._lab, self._apis, self._monkeypatch = lab, apis, monkeypatch

    async def __call__(
        self, provider: str, path: str, host: dict[str, str], **model: str | None
    ) -> Received:
        for name, value in host.items():
            self._monkeypatch.setenv(name, value.replace("@url@", self._apis.url))
        said = {"endpoint": self._apis.url, "api_key": None, "auth_provider": provider, **model}
        agent = self._lab.agent(None, model=said)
        backend = ClaudeBackend(agent, registry_of())
        await backend.initialize()
        try:
            result = await backend.invoke_once("Hi")
        finally:
            await backend.teardown()
        assert (result.error_reason, result.error_detail) == (None, None)
        assert result.response == "hello"
        return self._apis.asked(path)


@pytest.fixture
def ask(lab: Lab, apis: CloudAPIs, monkeypatch: pytest.MonkeyPatch) -> Asking:
    return Asking(lab, apis, monkeypatch)


async def test_api_key_is_sent_as_such(ask: Asking) -> None:
    request = await ask("api_key", "/v1/messages", {"ANTHROPIC_API_KEY": "sk-ant-x"})
    assert request.headers["x-api-key"] == "sk-ant-x"
    assert "authorization" not in request.headers


async def test_an_oauth_token_is_sent_as_a_bearer(ask: Asking) -> None:
    host = {"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-x", "ANTHROPIC_API_KEY": "sk-ant-x"}
    request = await ask("oauth_token", "/v1/messages", host)
    assert request.headers["authorization"] == "Bearer sk-ant-oat01-x"
    assert "x-api-key" not in request.headers
    assert "oauth" in request.headers["anthropic-beta"]


async def test_a_custom_server_gets_the_key_as_a_bearer_below_its_own_path(
    ask: Asking, apis: CloudAPIs
) -> None:
    endpoint = f"{apis.url}/gateway/claude"
    request = await ask("custom", "/v1/messages", {}, endpoint=endpoint, api_key="gateway-key")
    assert request.path.startswith("/gateway/claude/v1/messages")
    assert request.headers["authorization"] == "Bearer gateway-key"
    assert "x-api-key" not in request.headers


def signer(request: Received) -> str:
    """Who signed a request, and for which region and service."""
    found = re.match(
        r"AWS4-HMAC-SHA256 Credential=(\w+)/\d{8}/(.+)/aws4_request, SignedHeaders=\S+, "
        r"Signature=[0-9a-f]{64}$",
        request.headers["authorization"],
    )
    assert found
    return f"{found[1]} {found[2]}"


class TestBedrock:
    async def test_a_key_signs(self, ask: Asking) -> None:
        host = {**REGION, **KEYS, "AWS_SESSION_TOKEN": "session-1"}
        request = await ask("bedrock", BEDROCK, host)
        assert signer(request) == "AKIAIOSFODNN7EXAMPLE eu-west-1/bedrock"
        assert request.headers["x-amz-security-token"] == "session-1"

    async def test_an_api_key_of_bedrock_is_a_bearer(self, ask: Asking) -> None:
        request = await ask("bedrock", BEDROCK, {**REGION, **KEYS}, api_key="bedrock-key")
        assert request.headers["authorization"] == "Bearer bedrock-key"

    async def test_a_profile_is_read_from_the_users_files(
        self, ask: Asking, tmp_path: Path
    ) -> None:
        (tmp_path / ".aws").mkdir()
        (tmp_path / ".aws" / "credentials").write_text(
            "[work]\naws_access_key_id = AKIAPROFILEEXAMPLE00\naws_secret_access_key = s\n"
        )
        host = {**REGION, "AWS_PROFILE": "work", "HOME": str(tmp_path)}
        assert signer(await ask("bedrock", BEDROCK, host)).startswith("AKIAPROFILEEXAMPLE00 ")

    async def test_a_container_is_asked_for_its_role(self, ask: Asking) -> None:
        host = {**REGION, "AWS_CONTAINER_CREDENTIALS_FULL_URI": "@url@/role"}
        request = await ask("bedrock", BEDROCK, host)
        assert signer(request).startswith("AKIACONTAINEREXAMPLE ")
        assert request.headers["x-amz-security-token"] == "container-session"


class TestVertex:
    async def test_a_machine_of_google_cloud_asks_for_its_token(
        self, ask: Asking, apis: CloudAPIs
    ) -> None:
        host = {
            **PROJECT,
            "METADATA_SERVER_DETECTION": "assume-present",
            "GCE_METADATA_HOST": apis.url.removeprefix("http://"),
        }
        request = await ask("vertex", VERTEX, host)
        assert request.headers["authorization"] == f"Bearer {TOKEN}"

    async def test_the_file_of_credentials_is_used(
        self, lab: Lab, apis: CloudAPIs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What follows the exchange of the token asks Google itself in older programs."""
        (tmp_path / "subject").write_text("subject-1")
        login = tmp_path / "login.json"
        login.write_text(
            json.dumps(
                {
                    "type": "external_account",
                    "audience": AUDIENCE,
                    "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
                    "token_url": f"{apis.url}/v1/token",
                    "credential_source": {"file": str(tmp_path / "subject")},
                }
            )
        )
        for name, value in {**PROJECT, "GOOGLE_APPLICATION_CREDENTIALS": str(login)}.items():
            monkeypatch.setenv(name, value)
        said = {"endpoint": apis.url, "api_key": None, "auth_provider": "vertex"}
        backend = ClaudeBackend(lab.agent(None, model=said), registry_of())
        await backend.initialize()
        await backend.invoke_once("Hi")
        await backend.teardown()
        assert "subject-1" in apis.asked("/v1/token").body


class TestFoundry:
    async def test_a_key_is_sent_as_such(self, ask: Asking, apis: CloudAPIs) -> None:
        endpoint = f"{apis.url}/anthropic"
        host = {"ANTHROPIC_FOUNDRY_RESOURCE": "not-this", "ANTHROPIC_FOUNDRY_API_KEY": "f-key"}
        request = await ask("foundry", "/v1/messages", host, endpoint=endpoint)
        assert request.path.startswith("/anthropic/v1/messages")
        assert request.headers["x-api-key"] == "f-key"

    async def test_a_managed_identity_asks_for_its_token(self, ask: Asking) -> None:
        host = {"IDENTITY_ENDPOINT": "@url@/msi/token", "IDENTITY_HEADER": "header-1"}
        request = await ask("foundry", "/v1/messages", host)
        assert request.headers["authorization"] == f"Bearer {TOKEN}"
