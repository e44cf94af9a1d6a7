"""The credential of Claude: what each auth_provider takes, and what is refused before a start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.claude.process.credentials import find_credentials
from holodeck_backend_claude.claude.process.providers import PROVIDERS
from holodeck_backend_claude.config import Agent
from holodeck_backend_claude.contract import BackendInitError

AWS_KEYS = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "aws-secret-1"}
REGION = {"AWS_REGION": "eu-west-1"}
PROJECT = {"CLOUD_ML_REGION": "europe-west1", "ANTHROPIC_VERTEX_PROJECT_ID": "p"}


def agent(**model: Any) -> Agent:
    return Agent.model_validate(
        {
            "name": "a",
            "model": {"provider": "anthropic", "name": "m", **model},
            "instructions": {"inline": "Answer."},
        }
    )


def found(provider: str, host: dict[str, str], **model: Any) -> dict[str, str]:
    """What a process gets, without the switches that say which provider it is."""
    credentials = find_credentials(
        agent(auth_provider=provider, **model), {"HOME": "/nobody", **host}
    )
    fixed = PROVIDERS[provider].fixed
    return {
        name: value for name, value in credentials.variables.items() if fixed.get(name) != value
    }


@pytest.mark.parametrize("odd", ["\u20ac", "\x00", "\n", "\xe9"])
@pytest.mark.parametrize("place", ["model.api_key", "ANTHROPIC_API_KEY"])
def test_one_that_no_header_can_hold_is_refused_unseen(odd: str, place: str) -> None:
    value = f"sk{odd}SECRETMARK"
    own, host = ({}, {place: value}) if place.isupper() else ({"api_key": value}, {})
    with pytest.raises(BackendInitError, match=place) as caught:
        find_credentials(agent(**own), host)
    assert "SECRETMARK" not in str(caught.value)


def test_white_space_around_one_does_not_count() -> None:
    assert find_credentials(agent(), {"ANTHROPIC_API_KEY": " key\n"}).variables == {
        "ANTHROPIC_API_KEY": "key"
    }


def test_a_credential_is_not_shown_with_its_object() -> None:
    assert "key-1" not in repr(find_credentials(agent(api_key="key-1"), {}))


@pytest.mark.parametrize(
    ("provider", "host", "model", "taken"),
    [
        ("api_key", {"ANTHROPIC_API_KEY": "k"}, {}, {"ANTHROPIC_API_KEY": "k"}),
        ("api_key", {"ANTHROPIC_API_KEY": "k"}, {"api_key": "own"}, {"ANTHROPIC_API_KEY": "own"}),
        ("oauth_token", {"CLAUDE_CODE_OAUTH_TOKEN": "t", "ANTHROPIC_API_KEY": "k"}, {},
         {"CLAUDE_CODE_OAUTH_TOKEN": "t"}),
        ("custom", {"ANTHROPIC_AUTH_TOKEN": "t"}, {"endpoint": "https://g.test/x"},
         {"ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_BASE_URL": "https://g.test/x"}),
        ("custom", {}, {"endpoint": "https://g.test", "api_key": "own"},
         {"ANTHROPIC_AUTH_TOKEN": "own", "ANTHROPIC_BASE_URL": "https://g.test"}),
        ("bedrock", {**REGION, **AWS_KEYS, "AWS_SESSION_TOKEN": "st", "AWS_PROFILE": "p"}, {},
         {**REGION, **AWS_KEYS, "AWS_SESSION_TOKEN": "st"}),
        ("bedrock", {**AWS_KEYS, "AWS_DEFAULT_REGION": "eu-west-2"}, {},
         {**AWS_KEYS, "AWS_REGION": "eu-west-2"}),
        ("bedrock", {**REGION, **AWS_KEYS, "AWS_BEARER_TOKEN_BEDROCK": "b"}, {},
         {**REGION, "AWS_BEARER_TOKEN_BEDROCK": "b"}),
        ("bedrock", {**REGION, **AWS_KEYS}, {"api_key": "own", "endpoint": "https://b.test"},
         {**REGION, "AWS_BEARER_TOKEN_BEDROCK": "own",
          "ANTHROPIC_BEDROCK_BASE_URL": "https://b.test"}),
        ("bedrock", {**REGION, "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:1",
                     "AWS_CONTAINER_AUTHORIZATION_TOKEN": "t"}, {},
         {**REGION, "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:1",
          "AWS_CONTAINER_AUTHORIZATION_TOKEN": "t"}),
        ("bedrock", {**REGION, "AWS_EC2_METADATA_DISABLED": "false"}, {},
         {**REGION, "AWS_EC2_METADATA_DISABLED": "false"}),
        ("vertex", {"CLOUD_ML_REGION": "global", "GOOGLE_CLOUD_PROJECT": "g",
                    "METADATA_SERVER_DETECTION": "assume-present"}, {},
         {"CLOUD_ML_REGION": "global", "ANTHROPIC_VERTEX_PROJECT_ID": "g",
          "METADATA_SERVER_DETECTION": "assume-present"}),
        ("foundry", {"ANTHROPIC_FOUNDRY_RESOURCE": "r", "ANTHROPIC_FOUNDRY_API_KEY": "k"}, {},
         {"ANTHROPIC_FOUNDRY_RESOURCE": "r", "ANTHROPIC_FOUNDRY_API_KEY": "k"}),
        ("foundry", {"ANTHROPIC_FOUNDRY_RESOURCE": "r"},
         {"api_key": "own", "endpoint": "https://f.test/anthropic"},
         {"ANTHROPIC_FOUNDRY_BASE_URL": "https://f.test/anthropic",
          "ANTHROPIC_FOUNDRY_API_KEY": "own"}),
        ("foundry", {"ANTHROPIC_FOUNDRY_RESOURCE": "r", "AZURE_TENANT_ID": "t",
                     "AZURE_CLIENT_ID": "c", "AZURE_CLIENT_SECRET": "s"}, {},
         {"ANTHROPIC_FOUNDRY_RESOURCE": "r", "AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c",
          "AZURE_CLIENT_SECRET": "s"}),
    ],
)  # fmt: skip
def test_only_the_first_complete_way_of_the_provider_is_passed_on(
    provider: str, host: dict[str, str], model: dict[str, str], taken: dict[str, str]
) -> None:
    noise = {"OPENAI_API_KEY": "x", "AWS_VAULT": "y", "GOOGLE_OAUTH_ACCESS_TOKEN": "z"}
    assert found(provider, {**noise, **host}, **model) == taken


@pytest.mark.parametrize("provider", ["bedrock", "vertex", "foundry"])
def test_the_switch_of_the_provider_is_set(provider: str) -> None:
    fixed = PROVIDERS[provider].fixed
    assert fixed[f"CLAUDE_CODE_USE_{provider.upper()}"] == "1"


@pytest.mark.parametrize(
    ("provider", "host", "model", "told"),
    [
        ("api_key", {}, {}, r"ANTHROPIC_API_KEY .*model\.api_key.*--offline"),
        ("oauth_token", {"ANTHROPIC_API_KEY": "k"}, {}, "CLAUDE_CODE_OAUTH_TOKEN.*setup-token"),
        ("custom", {"ANTHROPIC_AUTH_TOKEN": "t"}, {}, r"no address .*model\.endpoint"),
        ("custom", {}, {"endpoint": "http://x"}, r"ANTHROPIC_AUTH_TOKEN.*model\.api_key"),
        ("bedrock", AWS_KEYS, {}, "no region .*AWS_REGION or AWS_DEFAULT_REGION"),
        ("bedrock", REGION, {}, "AWS_BEARER_TOKEN_BEDROCK or AWS_ACCESS_KEY_ID and AWS_SECRET"),
        ("bedrock", {**REGION, "AWS_PROFILE": "p"}, {}, "AWS_PROFILE .with the files"),
        ("bedrock", {**REGION, "AWS_EC2_METADATA_DISABLED": "true"}, {}, "DISABLED=false"),
        ("vertex", {}, {}, "no region .*CLOUD_ML_REGION"),
        ("vertex", {"CLOUD_ML_REGION": "x"}, {}, "no project .*ANTHROPIC_VERTEX_PROJECT_ID"),
        ("vertex", PROJECT, {}, "GOOGLE_APPLICATION_CREDENTIALS.*gcloud auth"),
        ("vertex", PROJECT, {"api_key": "k"}, r"model\.api_key has no effect.*'vertex'"),
        ("foundry", {}, {}, r"no resource .*ANTHROPIC_FOUNDRY_RESOURCE.*model\.endpoint"),
        ("foundry", {"ANTHROPIC_FOUNDRY_RESOURCE": "r"}, {}, "ANTHROPIC_FOUNDRY_API_KEY.*api_key"),
        ("vertex", {**PROJECT, "GOOGLE_APPLICATION_CREDENTIALS": "/no/such"}, {},
         "GOOGLE_APPLICATION_CREDENTIALS names .* does not exist: /no/such"),
        ("api_key", {}, {"api_key": "k", "endpoint": "gateway.test"}, r"model\.endpoint.*scheme"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named_with_the_ways_to_give_it(
    provider: str, host: dict[str, str], model: dict[str, str], told: str
) -> None:
    with pytest.raises(BackendInitError, match=told):
        found(provider, host, **model)


def test_a_profile_comes_with_its_files_by_their_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text("")
    (tmp_path / "aws.conf").write_text("")
    monkeypatch.chdir(tmp_path)
    host = {**REGION, "AWS_PROFILE": "p", "AWS_CONFIG_FILE": "aws.conf", "HOME": str(tmp_path)}
    assert found("bedrock", host) == {
        **REGION,
        "AWS_PROFILE": "p",
        "AWS_CONFIG_FILE": str(tmp_path / "aws.conf"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / ".aws" / "credentials"),
    }
    keys_win = found("bedrock", {**host, **AWS_KEYS})
    assert "AWS_CONFIG_FILE" not in keys_win  # only where a profile is used


def test_the_login_of_gcloud_is_found_in_the_home_folder(tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "gcloud"
    folder.mkdir(parents=True)
    login = folder / "application_default_credentials.json"
    login.write_text("{}")
    taken = found("vertex", {**PROJECT, "HOME": str(tmp_path)})
    assert taken == {**PROJECT, "GOOGLE_APPLICATION_CREDENTIALS": str(login)}
