"""Every form of secret the redactor knows, by an example; and texts in which there is none.

The examples are put together here, so that no search for leaked keys takes them for one.
"""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest

from holodeck_backend_claude import redaction
from holodeck_backend_claude.redaction import MASK, mask_known_secrets, mask_secrets
from holodeck_backend_claude.redaction.shapes import ANNOUNCED, FORMS


def letters(count: int) -> str:
    return ("aB3dE5gH7jK9" * 20)[:count]


def hexadecimal(count: int) -> str:
    return ("0f1e2d3c4b5a" * 20)[:count]


EXAMPLES = {
    "private key": [f"-----BEGIN {kind}PRIVATE KEY-----\\nMII{letters(40)}\\n-----END {kind}PRIVATE"
                    " KEY-----" for kind in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ")],
    "JSON web token": ["eyJ" + letters(20) + "." + letters(20) + "." + letters(20)],
    "Anthropic, OpenAI, OpenRouter, DeepSeek, Langfuse": [
        start + letters(32)
        for start in (
            "sk-ant-api03-", "sk-ant-oat01-", "sk-ant-ort01-", "sk-ant-admin01-", "sk-proj-",
            "sk-svcacct-", "sk-None-", "sk-or-v1-", "sk-lf-", "sk-",
        )
    ],
    "Groq": ["gsk_" + letters(52)],
    "xAI": ["xai-" + letters(80)],
    "Perplexity": ["pplx-" + letters(48)],
    "Replicate": ["r8_" + letters(37)],
    "Hugging Face": ["hf_" + letters(34)],
    "Fireworks": ["fw_" + letters(24)],
    "Together": ["tgp_v1_" + letters(43)],
    "NVIDIA": ["nvapi-" + letters(64)],
    "Voyage": ["pa-" + letters(43)],
    "Jina": ["jina_" + letters(60)],
    "Tavily": ["tvly-dev-" + letters(32)],
    "Pinecone": ["pcsk_" + letters(70)],
    "LangSmith": ["lsv2_pt_" + hexadecimal(32) + "_" + hexadecimal(10), "lsv2_sk_" + letters(42)],
    "AWS access key": ["AKIA" + "IOSFODNN7EXAMPLE"[:16], "ASIA" + "IOSFODNN7EXAMPLE"[:16]],
    "AWS session token": ["IQoJb3JpZ2luX2Vj"[:12] + letters(60)],
    "Amazon Bedrock": ["ABSK" + letters(60) + "=="],
    "Amazon Bedrock, short-term": ["bedrock-api-key-" + letters(60) + "="],
    "Google API key": ["AIza" + letters(35)],
    "Google access token": ["ya29." + letters(60), "ya29.a0-" + letters(20)],
    "Google refresh token": ["1//0" + letters(40)],
    "Google client secret": ["GOCSPX-" + letters(28)],
    "Azure AI key": [letters(52) + "JQQJ99" + letters(26)],
    "Azure client secret": ["aB38Q~" + letters(34)],
    "DigitalOcean": ["dop_v1_" + hexadecimal(64), "doo_v1_" + hexadecimal(64)],
    "Databricks": ["dapi" + hexadecimal(32), "dapi" + hexadecimal(32) + "-2"],
    "Vault": ["hvs." + letters(24), "hvb." + letters(80)],
    "Terraform": [letters(14) + ".atlasv1." + letters(60)],
    "Supabase": ["sbp_" + hexadecimal(40), "sb_secret_" + letters(31)],
    "GitHub": [f"gh{kind}_" + letters(36) for kind in "pousr"],
    "GitHub, fine-grained": ["github_pat_" + letters(22) + "_" + letters(59)],
    "GitLab": [f"gl{kind}-" + letters(20) for kind in ("pat", "dt", "rt", "cbt", "ptt", "ft")],
    "npm": ["npm_" + letters(36)],
    "PyPI": ["pypi-AgEIcHlwaS5vcmc" + letters(60)],
    "Docker": ["dckr_pat_" + letters(27), "dckr_oat_" + letters(27)],
    "Atlassian": ["ATATT3" + letters(60) + "=" + "0A1B2C3D"],
    "Sentry": ["sntrys_" + letters(60) + "_" + letters(40)],
    "Grafana": ["glsa_" + letters(32) + "_" + hexadecimal(8), "glc_" + letters(40)],
    "Slack": ["xoxb-123456789012-" + letters(24), "xoxp-1-2-3-" + hexadecimal(32),
              "xoxe.xoxp-1-" + letters(40)],
    "Slack app": ["xapp-1-A0B1C2-" + hexadecimal(64)],
    "Slack hook": ["hooks.slack.com/services/T0000/B0000/" + letters(24)],
    "Discord": ["M" + letters(24) + "." + letters(6) + "." + letters(38)],
    "Discord hook": ["https://discord.com/api/webhooks/123456789012345678/" + letters(60)],
    "Telegram": ["123456789:AA" + letters(33)],
    "Stripe": ["sk_live_" + letters(24), "rk_live_" + letters(24), "sk_test_" + letters(24)],
    "Stripe hook": ["whsec_" + letters(32)],
    "SendGrid": ["SG." + letters(22) + "." + letters(43)],
    "Twilio": ["SK" + hexadecimal(32)],
    "Shopify": ["shpat_" + hexadecimal(32), "shpss_" + hexadecimal(32)],
    "Notion": ["ntn_" + letters(46)],
    "Linear": ["lin_api_" + letters(40)],
    "Airtable and others": ["pat" + letters(14) + "." + hexadecimal(64), "pat_" + letters(24)],
    "password in a URL": [
        f"{scheme}://{user}:{letters(14)}@db.test:1/x"
        for scheme, user in (
            ("postgresql", "app"), ("postgresql+asyncpg", "app"), ("mysql", "app"),
            ("mongodb+srv", "app"), ("redis", ""), ("rediss", "default"), ("amqps", "app"),
            ("https", "user"),
        )
    ],
    "token in a URL": ["https://" + letters(40) + "@git.test/x.git"],
}  # fmt: skip

# What announces a secret, and the secret.
ANNOUNCEMENTS = {
    "scheme": [("sent Bearer {}", letters(20)), ("Basic {}", letters(20) + "==")],
    "authorization": [
        ("Proxy-Authorization: Basic {}", "dXNlcjpwYXNzd29yZDE="),
        ("Authorization: {}", letters(30)),
        ('{{"authorization": "Token {}"}}', letters(30)),
    ],
    "cookie": [("Cookie: {}", "session=abcdef; csrf=123"), ("Set-Cookie: {}", "sid=a8c; Path=/")],
    "parameter of a URL": [
        ("GET /v1?access_token={}&page=2", letters(12)),
        ("https://s.test/?X-Amz-Signature={}", hexadecimal(64)),
        ("https://x.blob.test/c?sv=2022&sig={}&se=1", "abc%2Fdef%3D"),
    ],
    "quoted value": [('password="{}"', "my long phrase"), ("passphrase: '{}'", "four words in it")],
    "value in braces": [("Driver=x;PWD={}", "{a;b c}")],
    "value": [
        ("AZURE_OPENAI_API_KEY={}", hexadecimal(32)),
        ("Ocp-Apim-Subscription-Key: {}", hexadecimal(32)),
        ("aws_secret_access_key = {}", "wJalrXUtnFEMI/K7MDENG/" + letters(18)),
        ('"SecretAccessKey": "{}"', "wJalrXUtnFEMI/K7MDENG/" + letters(18)),
        ("AccountName=a;AccountKey={};EndpointSuffix=x", letters(86) + "=="),
        ("Endpoint=sb://x/;SharedAccessKey={}", letters(43) + "="),
        ("InstrumentationKey={};Endpoint=https://x", "01234567-1111-2222-3333-444444444444"),
        ("Server=db;User Id=app;Password={};Encrypt=yes", "hunter2!"),
        ("MISTRAL_API_KEY={}", letters(32)),
        ("cohere api key: {}", letters(40)),
        ("weaviate-api-key: {}", letters(40)),
        ("QDRANT_API_KEY={}", letters(40)),
        ('{{\\"password\\": \\"{}\\"}}', "hunter2!"),
    ],
    "assigned value": [("aws_session_token={}", letters(60)), ("token={}", letters(10))],
    "value after a colon": [("token: {}", hexadecimal(16)), ('"SessionToken": "{}"', letters(60))],
}  # fmt: skip

HARMLESS = [
    "commit 3f2a9c0d1e4b5a6978877665544332211aabbccd is not on main",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 differs",
    "request 550e8400-e29b-41d4-a716-446655440000 was not found",
    "Unexpected the token: foo at line 3; the token: foo",
    "max_tokens=4096 exceeds the limit of claude-sonnet-4-5-20250929",
    "call toolu_01AbCdEfGhIjKlMnOpQrStUv of msg_01AbCdEfGhIjKlMnOpQrStUv failed",
    "/home/app/.config/keys/readme.txt: no such file",
    "C:\\Users\\app\\secrets\\readme.txt: no such file",
    "there is no secret here, none",
    "Set-Cookie headers are not sent; cookie: chocolate",
    "write to user@example.com or see http://127.0.0.1:8080/docs?page=2#top",
    "the patent of patricia, the npm_config_cache, a sk_learn model and an hf_hub",
    "SK-2024 and SG. and glow- and ghp_ and AIza are too short",
    "authorization: required",
    "SELECT * FROM t WHERE id = 42 -- password column dropped",
    "postgresql://db.example:5432/orders: connection refused",
]


@pytest.mark.parametrize("name", [shape.name for shape in FORMS])
def test_a_known_form_is_masked_in_every_text(name: str) -> None:
    for secret in EXAMPLES[name]:
        for text in (f"refused: {secret} was wrong", f'{{"k":"{secret}"}}', f"({secret})", secret):
            assert MASK in mask_known_secrets(text), text
            assert letters(10) not in mask_known_secrets(text), text
            assert hexadecimal(12) not in mask_known_secrets(text), text


@pytest.mark.parametrize("name", [shape.name for shape in ANNOUNCED])
def test_an_announced_secret_is_masked_in_the_text_of_a_stranger(name: str) -> None:
    for text, secret in ANNOUNCEMENTS[name]:
        masked = mask_secrets(text.format(secret))
        assert secret not in masked, text
        assert MASK in masked, text
        assert masked == mask_secrets(masked)


@pytest.mark.parametrize("text", HARMLESS)
def test_a_text_without_secrets_stays_as_it_is(text: str) -> None:
    assert mask_secrets(text) == text


class TestAKnownValue:
    SECRET = 'pä/ss"wo+rd\nof 4711'

    @pytest.fixture(autouse=True)
    def remembered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(redaction.known, "_remembered", {self.SECRET})

    @pytest.mark.parametrize(
        "form",
        [
            SECRET,
            quote(SECRET),
            quote(SECRET, safe=""),
            json.dumps(SECRET)[1:-1],
            json.dumps(json.dumps(SECRET)),
            json.dumps(SECRET, ensure_ascii=False)[1:-1],
        ],
    )
    def test_is_masked_however_it_is_written(self, form: str) -> None:
        masked = mask_known_secrets(f"before {form} after")
        assert "4711" not in masked
        assert masked.startswith("before ")
        assert masked.endswith(" after")

    @pytest.mark.parametrize("user", ["", "u", "us", "use", "user"])
    def test_is_masked_in_base64_wherever_it_stands(self, user: str) -> None:
        pair = base64.b64encode(f"{user}:{self.SECRET}:x".encode()).decode()
        shown = base64.b64encode(self.SECRET.encode()).decode()[4:-8]
        masked = mask_known_secrets(f"header {pair} refused")
        assert MASK in masked
        assert len(masked) < len(f"header {pair} refused")
        assert shown not in masked


NEAR_MISSES = [
    "a://b:", "eyJaaaaaaaa-", "eyJaaaaaaaa.", "token:", "password ", "password = ", "sk-",
    "Bearer ", "-----BEGIN PRIVATE KEY-----", "hooks.slack.com/services/", "cookie: ", "cookie: a",
    "?token", "authorization: Basic ", "PWD={", 'password="', "\\\\\\", "aB3dE5gH7jK9", "M.",
    "1:AA", "://a", "SG.aaaaaaaaaaaaaaaaaaaa", "aaa8Q~", "://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    " ", "xoxe.xox",
]  # fmt: skip


@pytest.mark.parametrize("unit", NEAR_MISSES)
def test_near_misses_of_a_form_take_linear_time(unit: str) -> None:
    mask_secrets(unit * (200_000 // len(unit)) + "@")  # the time limit of the test is the assertion


def test_so_does_a_megabyte_of_them_all() -> None:
    share = 1_000_000 // len(NEAR_MISSES)
    mask_secrets("".join(unit * (share // len(unit)) for unit in NEAR_MISSES))
