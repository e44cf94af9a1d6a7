"""What an exception reads like."""

from __future__ import annotations

import pytest

from holodeck_backend_claude.contract import ConfigError, PluginError
from holodeck_backend_claude.failures import cause_text, error_text


def test_an_error_without_a_message_still_says_something() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise ValueError

    assert error_text(TimeoutError()) == "TimeoutError: no message"
    assert error_text(KeyError("id")) == "KeyError: 'id'"
    assert error_text(MuteError()) == cause_text(MuteError()) == "MuteError: no message"


def test_a_group_of_errors_names_its_parts() -> None:
    group = ExceptionGroup("two", [OSError("disk"), TimeoutError()])
    assert error_text(group).endswith("[OSError: disk; TimeoutError: no message]")


def test_secrets_in_the_message_of_a_stranger_are_masked() -> None:
    error = ConnectionError("postgres://app:s3cr3t@db refused")
    assert cause_text(error) == "ConnectionError: postgres://app:[secret]@db refused"


def test_errors_written_for_the_user_lose_no_word_that_only_looks_like_a_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PROBE_KEY", "plain-looking")
    error = ConfigError("embedding_provider.api_key: 'openai' needs a key, not plain-looking")
    told = "embedding_provider.api_key: 'openai' needs a key, not [secret]"
    assert cause_text(error) == told
    assert error_text(error) == f"ConfigError: {told}"
    assert "'openai'" not in error_text(ValueError(str(error)))


def test_errors_written_for_the_user_need_no_type_before_them() -> None:
    assert cause_text(PluginError("kb: write it so")) == "kb: write it so"
    assert cause_text(PluginError()) == error_text(PluginError()) == "PluginError: no message"
