"""Earlier turns: what is taken for one, and that nothing of their content is shown."""

from __future__ import annotations

from typing import Any

import pytest

from holodeck_backend_claude.earlier_turns import EarlierTurn, check_context

SECRET = "my number is 4111"


def test_turns_of_both_roles_are_taken_in_their_order() -> None:
    context = [{"role": "user", "content": "Hi", "more": 1}, {"role": "assistant", "content": ""}]
    assert check_context(context) == (EarlierTurn("user", "Hi"), EarlierTurn("assistant", ""))


@pytest.mark.parametrize("nothing", [None, [], ()])
def test_no_context_is_no_turns(nothing: Any) -> None:
    assert check_context(nothing) == ()


@pytest.mark.parametrize(
    ("turn", "told"),
    [
        ({"role": "system", "content": SECRET}, "not the role 'system' with a content of type str"),
        ({"role": "user", "content": [SECRET]}, "not the role 'user' with a content of type list"),
        ({"content": SECRET}, "not the role None with a content of type str"),
        ({"role": SECRET, "content": "user"}, "not a role of type str with a content of type str"),
        ({"role": [SECRET], "content": 5}, "not a role of type list with a content of type int"),
        ({}, "not the role None with a content of type NoneType"),
        (SECRET, "not a str"),
        (None, "not a NoneType"),
    ],
)
def test_anything_else_is_refused_with_its_place_and_without_its_content(
    turn: Any, told: str
) -> None:
    with pytest.raises(ValueError, match=r"^context\[1\] must be \{'role': ") as caught:
        check_context([{"role": "user", "content": "Hi"}, turn])
    assert told in str(caught.value)
    assert "4111" not in str(caught.value)


@pytest.mark.parametrize("context", [SECRET, {"role": "user", "content": SECRET}, 5])
def test_a_context_that_is_no_list_is_refused(context: Any) -> None:
    with pytest.raises(ValueError, match="context must be a list of turns") as caught:
        check_context(context)
    assert "4111" not in str(caught.value)
