"""``claude.sessions`` of agent.yaml: what it takes and what it refuses."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from holodeck_backend_claude.claude.settings import ClaudeSettings

URL = "postgresql://u:a-password@127.0.0.1/x"


def test_nothing_is_stored_unless_the_agent_says_so() -> None:
    assert ClaudeSettings().sessions is None


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({}, "Field required"),
        ({"store": "redis"}, "sqlite"),
        ({"store": "postgres"}, "needs 'url'"),
        ({"store": "postgres", "url": ""}, "at least 1"),
        ({"store": "postgres", "url": URL, "path": "x.db"}, "'path' belongs to"),
        ({"store": "sqlite", "url": URL}, "'url' belongs to"),
        ({"store": "sqlite", "path": " "}, "at least 1 character"),
        ({"store": "sqlite", "keep_days": 0}, "greater than or equal to 1"),
        ({"store": "sqlite", "keep": 1}, "Extra inputs"),
    ],
)
def test_what_has_no_effect_is_refused(said: dict[str, object], why: str) -> None:
    with pytest.raises(ValidationError, match=why) as error:
        ClaudeSettings.model_validate({"sessions": said})
    assert "a-password" not in str(error.value.errors()[0]["msg"])


def test_the_url_is_a_secret() -> None:
    settings = ClaudeSettings.model_validate({"sessions": {"store": "postgres", "url": URL}})
    assert "a-password" not in repr(settings)
