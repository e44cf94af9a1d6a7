"""The credential of Claude: what is refused before anything is started with it."""

from __future__ import annotations

import pytest

from holodeck_backend_claude.claude.process.environment import credential
from holodeck_backend_claude.config import Agent
from holodeck_backend_claude.contract import BackendInitError


def agent(**model: str) -> Agent:
    return Agent.model_validate(
        {
            "name": "a",
            "model": {"provider": "anthropic", "name": "m", **model},
            "instructions": {"inline": "Answer."},
        }
    )


@pytest.mark.parametrize("odd", ["\u20ac", "\x00", "\n", "\xe9"])
@pytest.mark.parametrize("place", ["model.api_key", "ANTHROPIC_API_KEY"])
def test_one_that_no_header_can_hold_is_refused_unseen(odd: str, place: str) -> None:
    value = f"sk{odd}SECRETMARK"
    own, host = ({}, {place: value}) if place.isupper() else ({"api_key": value}, {})
    with pytest.raises(BackendInitError, match=place) as caught:
        credential(agent(**own), host)
    assert "SECRETMARK" not in str(caught.value)


def test_white_space_around_one_does_not_count() -> None:
    assert credential(agent(), {"ANTHROPIC_API_KEY": " key\n"}) == ("ANTHROPIC_API_KEY", "key")
