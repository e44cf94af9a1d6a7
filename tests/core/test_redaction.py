"""Secrets in error texts."""

from __future__ import annotations

import pytest

from holodeck_backend_claude import redaction
from holodeck_backend_claude.redaction import is_secret_name, mask_known_secrets, mask_secrets

MASK = redaction.MASK


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("invalid x-api-key sk-ant-api03-AbCdEf012345_-67890", "sk-ant-api03-AbCdEf012345_-67890"),
        ("Incorrect API key provided: sk-proj-abcdefgh12345678.", "sk-proj-abcdefgh12345678"),
        ("Incorrect API key provided: 0123456789abcdef", "0123456789abcdef"),
        ("creds AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
        (
            "remote: ghp_0123456789abcdefghijABCDEFGHIJ012345 denied",
            "ghp_0123456789abcdefghijABCDEF",
        ),
        ("github_pat_11ABCDEFG0_abcdefghijk", "11ABCDEFG0_abcdefghijk"),
        ("xoxb-123456789012-abcdef", "123456789012-abcdef"),
        ("key=AIzaSyA-0123456789abcdefghijklmnopqrstu", "AIzaSyA-0123456789abcdefghijklmnopqrstu"),
        ("hf_abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "eyJzdWIiOiIxIn0"),
        ("Authorization: Bearer abc.def-123456", "abc.def-123456"),
        ("authorization: basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA=="),
        ("postgresql://app:s3cr3t@db.example/x failed", "s3cr3t"),
        ("redis://:p@ss/w0rd@localhost:6379", "p@ss/w0rd"),
        ("Server=db;User=app;Password=hunter2!;Encrypt=yes", "hunter2!"),
        ("dsn: host=db password='hunter2' user=x", "hunter2"),
        ("AccountName=a;AccountKey=Zm9vYmFy==;EndpointSuffix=x", "Zm9vYmFy=="),
        ('{"client_secret": "abcd-efgh"}', "abcd-efgh"),
        ("GET /v1?api_key=abcd1234&page=2", "abcd1234"),
        ("https://x.example/?sig=abc%2Fdef&se=1", "abc%2Fdef"),
        ("token: 0123456789abcdef", "0123456789abcdef"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "MIIE"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE and the rest was cut", "MIIE"),
    ],
)
def test_known_forms_of_secrets_are_masked(text: str, secret: str) -> None:
    masked = mask_secrets(text)
    assert secret not in masked
    assert MASK in masked


def test_what_is_around_a_secret_stays_readable() -> None:
    text = "postgresql://app:s3cr3t@db.example:5432/orders: connection refused"
    assert mask_secrets(text) == text.replace("s3cr3t", MASK)


@pytest.mark.parametrize(
    "text",
    [
        "Unexpected token: identifier at line 3",
        "max_tokens=4096 exceeds the limit",
        "http://127.0.0.1:8080/path answered 404",
        "The basic idea: risk-free; task-based ask-me-anything",
        "No results found for the secret garden",
        "FileNotFoundError: /home/app/passwords/readme.txt",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert mask_secrets(text) == text


def test_masking_twice_changes_nothing_more() -> None:
    once = mask_secrets("password=hunter2, Bearer abcdefgh1234, api_key: 'abcd1234'")
    assert mask_secrets(once) == once


def test_values_of_secret_environment_variables_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_SEARCH_KEY", "0f1e2d3c4b5a")
    monkeypatch.setenv("SHORT_TOKEN", "abc")
    monkeypatch.setenv("MONKEY", "bananabanana")
    assert (
        mask_secrets("refused 0f1e2d3c4b5a abc bananabanana") == f"refused {MASK} abc bananabanana"
    )


def test_values_that_were_remembered_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction.known, "_remembered", set())
    redaction.remember_secrets(["plain-looking", "short"])
    assert mask_secrets("plain-looking and short") == f"{MASK} and short"


class TestTextsOfOurOwn:
    @pytest.mark.parametrize(
        "text",
        [
            "embedding_provider.api_key: 'openai' needs a key",
            "Set password: something, or token=something, in agent.yaml",
            "Basic authentication is not supported",
        ],
    )
    def test_keep_the_words_that_a_stranger_s_text_would_lose(self, text: str) -> None:
        assert MASK in mask_secrets(text)
        assert mask_known_secrets(text) == text

    def test_lose_known_values_and_keys_of_a_known_form(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AZURE_SEARCH_KEY", "0f1e2d3c4b5a")
        text = "refused 0f1e2d3c4b5a, sk-proj-abcdefgh12345678, redis://:hunter2@h and pass-7"
        told = mask_known_secrets(text, also=["pass-7", ""])
        assert told == f"refused {MASK}, {MASK}, redis://:{MASK}@h and {MASK}"


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY", "GITHUB_TOKEN", "CLIENT_SECRET", "DB_PASSWORD", "DB_PASSWD", "DB_PWD",
        "GOOGLE_CREDENTIALS", "OTEL_EXPORTER_OTLP_HEADERS", "AZURE_CONNECTION_STRING",
        "api_key", "api_kye", "apiKey", "x-api-key", "password", "pwd", "token", "credential",
        "Authorization", "headers", "connection_string", "ssh_passphrase",
        "PGPASSWORD", "DB_PASS", "GITHUB_PAT", "X-Auth", "MYAPIKEY", "accessToken", "clientSecret",
        "IDENTITY_HEADER",
    ],
)  # fmt: skip
def test_names_of_variables_and_settings_that_hold_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "PWD",
        "OLDPWD",
        "MONKEY",
        "KEYBOARD",
        "max_tokens",
        "tokenizer",
        "API_KIND",
        "header",
        "pass",
        "GIT_ASKPASS",
        "SSH_AUTH_SOCK",
        "PATH",
    ],
)
def test_names_of_variables_and_settings_that_hold_none(name: str) -> None:
    assert not is_secret_name(name)


def test_if_masking_fails_nothing_of_the_text_gets_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "FORMS", (None,))
    assert mask_secrets("password=hunter2") == redaction.WITHHELD


def test_a_traceback_for_a_log_holds_no_secret() -> None:
    with pytest.raises(RuntimeError) as caught:
        _fail()
    told = redaction.traceback_of(caught.value)
    assert told.startswith("Traceback")
    assert told.endswith(f"RuntimeError: no access with {MASK}")
    assert "abcdefgh" not in told


def _fail() -> None:
    raise RuntimeError("no access with sk-ant-api03-abcdefgh12345678")


@pytest.mark.parametrize("before", [0, 10, 990, 999])
def test_the_beginning_of_a_text_shows_no_part_of_a_secret_that_the_cut_goes_through(
    before: int,
) -> None:
    key = "sk-ant-api03-" + "k" * 40
    text = "x" * before + " " + key + " " + "y" * 100_000
    beginning = redaction.mask_beginning(text, 1_000)
    assert len(beginning) <= 1_000
    assert "k" * 4 not in beginning
    assert beginning.startswith("x" * (before - len(key)))


def test_a_short_text_is_masked_as_a_whole_by_its_beginning() -> None:
    assert redaction.mask_beginning("api_key=hunter22", 1_000) == mask_secrets("api_key=hunter22")
