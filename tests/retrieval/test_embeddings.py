"""The choice of an embedder, and the check of what it sends."""

from __future__ import annotations

import importlib.util
import logging
from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr

from holodeck_backend_claude.config import EmbeddingProviderConfig
from holodeck_backend_claude.contract import ConfigError
from holodeck_backend_claude.retrieval import EmbeddingError, make_embedder
from holodeck_backend_claude.retrieval.embedding import local
from holodeck_backend_claude.retrieval.embedding.embeddings import unit_vector


def config(**settings: Any) -> EmbeddingProviderConfig:
    return EmbeddingProviderConfig(**settings)


@pytest.fixture
def without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec

    def found(name: str, package: str | None = None) -> Any:
        return None if name == "onnxruntime" else find_spec(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", found)


class TestLocal:
    def test_it_is_the_default(self) -> None:
        embedder = make_embedder(None, {})
        assert embedder is not None
        assert embedder.dimensions == 384
        assert embedder.fingerprint.startswith("local/all-MiniLM-L6-v2/")

    def test_it_may_be_asked_for_with_its_name(self) -> None:
        embedder = make_embedder(config(name="all-MiniLM-L6-v2", dimensions=384), {})
        assert embedder is not None

    @pytest.mark.usefixtures("without_the_extra")
    def test_without_the_extra_there_is_none_where_nothing_was_asked_for(self) -> None:
        assert make_embedder(None, {}) is None

    @pytest.mark.usefixtures("without_the_extra")
    def test_without_the_extra_asking_for_it_is_an_error_with_the_command(self) -> None:
        with pytest.raises(ConfigError) as failure:
            make_embedder(config(provider="local"), {})
        assert 'pip install "holodeck-backend-claude[local]"' in str(failure.value)

    @pytest.mark.parametrize(
        ("setting", "value"),
        [
            ("name", "bge-small"),
            ("dimensions", 256),
            ("endpoint", "http://127.0.0.1"),
            ("api_key", SecretStr("key")),
            ("api_version", "1"),
        ],
    )
    def test_a_setting_that_would_have_no_effect_is_refused(self, setting: str, value: Any) -> None:
        with pytest.raises(ConfigError, match=rf"embedding_provider\.{setting}"):
            make_embedder(config(provider="local", **{setting: value}), {})

    def test_another_file_in_place_of_the_model_is_not_used(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(local, "_SHA256", "0" * 64)
        with pytest.raises(ConfigError, match="SHA-256"):
            make_embedder(config(provider="local"), {})
        with caplog.at_level(logging.INFO):
            assert make_embedder(None, {}) is None
        assert "SHA-256" in caplog.text


class TestServices:
    def test_an_unknown_provider_is_an_error_that_lists_the_known_ones(self) -> None:
        with pytest.raises(ConfigError) as failure:
            make_embedder(EmbeddingProviderConfig().model_copy(update={"provider": "acme"}), {})
        assert str(failure.value) == (
            "embedding_provider.provider: 'acme' is not known; known are 'local', "
            "'azure_openai', 'google', 'huggingface', 'mistral', 'ollama', 'openai'"
        )

    @pytest.mark.parametrize(
        ("provider", "variable"),
        [("openai", "OPENAI_API_KEY"), ("azure_openai", "AZURE_OPENAI_API_KEY")],
    )
    def test_a_missing_key_is_an_error_that_names_its_variable(
        self, provider: str, variable: str
    ) -> None:
        asked = config(provider=provider, name="small", endpoint="http://127.0.0.1")
        with pytest.raises(ConfigError, match=variable):
            make_embedder(asked, {})
        assert make_embedder(asked, {variable: "key"}) is not None

    def test_azure_needs_an_address_and_a_deployment(self) -> None:
        key = {"AZURE_OPENAI_API_KEY": "key"}
        with pytest.raises(ConfigError, match="AZURE_OPENAI_ENDPOINT"):
            make_embedder(config(provider="azure_openai", name="small"), key)
        with pytest.raises(ConfigError, match="deployment"):
            make_embedder(config(provider="azure_openai", endpoint="https://a.test"), key)

    def test_an_api_version_is_for_azure_only(self) -> None:
        with pytest.raises(ConfigError, match="api_version"):
            make_embedder(config(provider="openai", api_version="1"), {"OPENAI_API_KEY": "key"})

    def test_vectors_longer_than_any_are_refused(self) -> None:
        with pytest.raises(ConfigError, match="more than 3072"):
            make_embedder(config(provider="ollama", dimensions=5_000), {})

    def test_the_fingerprint_tells_models_apart_and_holds_no_key(self) -> None:
        environment = {"OPENAI_API_KEY": "sk-secret"}
        variants: list[dict[str, Any]] = [
            {},
            {"name": "text-embedding-3-large"},
            {"dimensions": 256},
            {"endpoint": "http://127.0.0.1:1/v1"},
        ]
        made = [make_embedder(config(provider="openai", **v), environment) for v in variants]
        fingerprints = {embedder.fingerprint for embedder in made if embedder}
        assert len(fingerprints) == len(variants)
        assert "sk-secret" not in "".join(fingerprints)

    def test_the_key_is_in_no_repr(self) -> None:
        embedder = make_embedder(config(provider="openai", api_key=SecretStr("sk-secret")), {})
        assert "sk-secret" not in repr(vars(embedder))


class TestUnitVectors:
    def test_a_vector_is_scaled_to_length_one(self) -> None:
        assert unit_vector([3, 4], None).tolist() == pytest.approx([0.6, 0.8])

    @pytest.mark.parametrize("factor", [1e-38, 1e38])
    def test_the_scale_does_not_matter(self, factor: float) -> None:
        assert unit_vector([3 * factor, 0.4 * factor], 2)[0] == pytest.approx(0.9912, abs=1e-3)

    @pytest.mark.parametrize(
        ("raw", "cause"),
        [
            ([0.0, 0.0], "all zeros"),
            ([float("nan"), 1.0], "NaN"),
            ([float("inf"), 1.0], "infinity"),
            ([1.0, 2.0, 3.0], "has 3 numbers instead of 2"),
            ([], "not one row of numbers"),
            ([[1.0, 2.0]], "not one row of numbers"),
            (["a", "b"], "no list of numbers"),
            (None, "not one row|no list"),
        ],
    )
    def test_what_is_no_vector_is_refused(self, raw: Any, cause: str) -> None:
        with pytest.raises(EmbeddingError, match=cause):
            unit_vector(raw, 2)

    def test_the_result_is_single_precision(self) -> None:
        assert unit_vector(np.ones(3), 3).dtype == np.float32
