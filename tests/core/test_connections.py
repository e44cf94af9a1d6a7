"""Where a model is reached and with which key: one rule for chat models and embeddings."""

from __future__ import annotations

import base64

import pytest

from holodeck_backend_claude.config import EmbeddingProviderConfig, ModelConfig
from holodeck_backend_claude.connections import Block, Connection, find_connection
from holodeck_backend_claude.contract import ConfigError

BLOCKS: tuple[Block, ...] = ("model", "embedding_provider")


@pytest.fixture(params=BLOCKS)
def block(request: pytest.FixtureRequest) -> Block:
    chosen: Block = request.param
    return chosen


def found(
    block: Block, provider: str, environment: dict[str, str] | None = None, **fields: str
) -> Connection:
    config = ModelConfig if block == "model" else EmbeddingProviderConfig
    asked = config.model_validate({"provider": provider, "name": "m", **fields})
    return find_connection(asked, environment or {}, block=block)


class TestKeys:
    @pytest.mark.parametrize("provider", ["openai", "azure_openai", "ollama"])
    @pytest.mark.parametrize("odd", ["\u20ac", "\x00", "\n", "\xe9", "\x1b"])
    def test_that_no_header_can_hold_are_refused_unseen(
        self, block: Block, provider: str, odd: str
    ) -> None:
        with pytest.raises(ConfigError, match=rf"{block}\.api_key.*Copy the key") as caught:
            found(block, provider, endpoint="https://x.test", api_key=f"sk{odd}SECRETMARK")
        assert "SECRETMARK" not in str(caught.value)

    @pytest.mark.parametrize(
        ("provider", "variable"),
        [("openai", "OPENAI_API_KEY"), ("azure_openai", "AZURE_OPENAI_API_KEY")],
    )
    def test_come_from_agent_yaml_or_the_variable_of_the_provider(
        self, block: Block, provider: str, variable: str
    ) -> None:
        environment = {variable: " theirs\n"}
        there = {"endpoint": "https://x.test"}
        assert found(block, provider, environment, **there).api_key == "theirs"
        assert found(block, provider, environment, **there, api_key="mine").api_key == "mine"

    @pytest.mark.parametrize(
        ("provider", "variable"),
        [("openai", "OPENAI_API_KEY"), ("azure_openai", "AZURE_OPENAI_API_KEY")],
    )
    @pytest.mark.parametrize("environment", [{}, {"OPENAI_API_KEY": " "}])
    def test_that_are_missing_are_named_with_both_places(
        self, block: Block, provider: str, variable: str, environment: dict[str, str]
    ) -> None:
        with pytest.raises(ConfigError, match=rf"{variable}.*{block}\.api_key"):
            found(block, provider, environment, endpoint="https://x.test")

    def test_are_not_shown(self, block: Block) -> None:
        assert "mine" not in repr(found(block, "openai", api_key="mine"))

    def test_are_not_needed_by_ollama(self, block: Block) -> None:
        assert found(block, "ollama").api_key
        assert found(block, "ollama", api_key="mine").api_key == "mine"


class TestAddresses:
    def test_of_agent_yaml_go_before_those_of_the_environment(self, block: Block) -> None:
        environment = {"OPENAI_API_KEY": "theirs", "OPENAI_BASE_URL": "http://theirs/v1"}
        assert found(block, "openai", environment) == Connection("http://theirs/v1", "theirs")
        mine = found(block, "openai", environment, api_key="mine", endpoint="http://mine/v1/")
        assert mine == Connection("http://mine/v1", "mine")

    def test_of_openai_have_a_default(self, block: Block) -> None:
        assert found(block, "openai", api_key="k").endpoint == "https://api.openai.com/v1"

    @pytest.mark.parametrize(
        ("given", "reached"),
        [
            ("http://box:1234", "http://box:1234/v1"),
            ("http://box:1234/", "http://box:1234/v1"),
            ("http://box:1234/v1", "http://box:1234/v1"),
            ("https://box/ollama", "https://box/ollama/v1"),
            ("https://box/ollama/v1/", "https://box/ollama/v1"),
            ("box:1", "http://box:1/v1"),
            ("box", "http://box:11434/v1"),
            ("box/ollama/v1", "http://box:11434/ollama/v1"),
            ("0.0.0.0", "http://0.0.0.0:11434/v1"),
            ("[::1]", "http://[::1]:11434/v1"),
        ],
    )
    def test_of_ollama_lead_to_where_it_speaks_openais_format(
        self, block: Block, given: str, reached: str
    ) -> None:
        assert found(block, "ollama", endpoint=given).endpoint == reached
        assert found(block, "ollama", {"OLLAMA_HOST": given}).endpoint == reached

    def test_of_ollama_have_a_default(self, block: Block) -> None:
        assert found(block, "ollama").endpoint == "http://127.0.0.1:11434/v1"

    def test_of_azure_have_no_default(self, block: Block) -> None:
        with pytest.raises(ConfigError, match=rf"{block}\.endpoint.*AZURE_OPENAI_ENDPOINT"):
            found(block, "azure_openai", api_key="k")
        environment = {"AZURE_OPENAI_ENDPOINT": "https://x.test/"}
        there = found(block, "azure_openai", environment, api_key="k")
        assert there.endpoint == "https://x.test"

    @pytest.mark.parametrize("provider", ["openai", "azure_openai"])
    def test_without_a_scheme_are_refused_before_a_key_is_sent_unencrypted(
        self, block: Block, provider: str
    ) -> None:
        with pytest.raises(ConfigError, match=rf"{block}\.endpoint.*'x\.test'.*https://"):
            found(block, provider, api_key="k", endpoint="x.test")


class TestVersions:
    @pytest.mark.parametrize(
        ("fields", "environment", "version"),
        [
            ({}, {}, "2024-10-21"),
            ({}, {"OPENAI_API_VERSION": "1"}, "1"),
            ({}, {"OPENAI_API_VERSION": "1", "AZURE_OPENAI_API_VERSION": "2"}, "2"),
            ({"api_version": "3"}, {"AZURE_OPENAI_API_VERSION": "2"}, "3"),
        ],
    )
    def test_of_azure_come_from_agent_yaml_the_environment_or_the_default(
        self, block: Block, fields: dict[str, str], environment: dict[str, str], version: str
    ) -> None:
        there = {"api_key": "k", "endpoint": "https://x.test"}
        assert found(block, "azure_openai", environment, **there, **fields).api_version == version

    @pytest.mark.parametrize("provider", ["openai", "ollama"])
    def test_are_azures_only(self, block: Block, provider: str) -> None:
        there = found(block, provider, {"OPENAI_API_VERSION": "1"}, api_key="k")
        assert there.api_version is None


def test_another_provider_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(
        ConfigError,
        match=r"model\.provider 'anthropic'.*openai, azure_openai and ollama.*model\.endpoint",
    ):
        found("model", "anthropic")


@pytest.mark.parametrize("provider", ["openai", "azure_openai", "ollama"])
@pytest.mark.parametrize(
    ("login", "meant"), [("us%40er:pass%2Fword-1", b"us@er:pass/word-1"), ("token-1", b"token-1:")]
)
def test_user_and_password_of_an_address_are_a_header_and_not_in_the_address(
    block: Block, provider: str, login: str, meant: bytes
) -> None:
    connection = found(block, provider, api_key="k", endpoint=f"https://{login}@x.test:1/v1")
    assert connection.endpoint == "https://x.test:1/v1"
    kind, sent = connection.headers["Authorization"].split()
    assert (kind, base64.b64decode(sent)) == ("Basic", meant)
    assert sent not in repr(connection)
