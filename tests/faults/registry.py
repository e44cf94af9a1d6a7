"""The causes, each with what is expected of it, and how one is tried: cause, check, next call."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

if TYPE_CHECKING:
    from tests.faults.lab import FaultLab, Place

Got: TypeAlias = str | dict[str, str]
Provoke: TypeAlias = "Callable[[FaultLab], Awaitable[Got]]"

PROPERTY = "fault"
NOTHING = "nothing"
LIMIT_SECONDS = 240
"""For one cause with all its values, on a machine that is busy."""

SESSIONS = "FAULTS_REAL_SESSIONS"
"""The variable that says how many sessions of the real program follow each other."""

GROUPS = {
    "program": "The Claude Code program",
    "turn": "The Claude Code program in a turn",
    "api": "The Messages API",
    "stream": "The answer of the Messages API",
    "tool": "Tools",
    "cancel": "Whoever asked leaves",
    "part": "What an agent is made of",
    "scale": "Many, and one after the other",
    "command": "Commands",
}


@dataclass(frozen=True)
class Cause:
    """One thing that goes wrong.

    Attributes:
        id: The name of its test, without ``test_``.
        group: A key of :data:`GROUPS`.
        what: The cause in words.
        expected: What comes of it; of a cause with several values, for each.
        left: What is left afterwards.
    """

    id: str
    group: str
    what: str
    expected: str | Mapping[str, str]
    left: str = NOTHING


CAUSES: list[Cause] = []
"""Every cause whose test module was imported."""


def fault(
    group: str, what: str, expected: str | Mapping[str, str], *, left: str = NOTHING
) -> Callable[[Provoke], Callable[..., Awaitable[None]]]:
    """Make a test of a function that provokes a cause and says what came of it.

    The test fails where something else than ``expected`` came, where anything is left, and where
    the next call on a backend of the lab does not work.

    Args:
        group: A key of :data:`GROUPS`.
        what: The cause in words.
        expected: What the function returns; for a cause with several values, a mapping.
        left: What is left afterwards, in words; the test itself has to look at it.
    """
    if group not in GROUPS:
        raise ValueError(f"{group!r} is none of {', '.join(GROUPS)}")

    def decorate(provoke: Provoke) -> Callable[..., Awaitable[None]]:
        cause = Cause(provoke.__name__.removeprefix("test_"), group, what, expected, left)
        CAUSES.append(cause)

        async def test(place: Place, record_property: Callable[[str, object], None]) -> None:
            from tests.faults.lab import fault_lab  # not before pytest has its plugins

            record = {**asdict(cause), "got": "it did not end", "left": "not checked"}
            record_property(PROPERTY, record)
            try:
                async with fault_lab(place) as lab:
                    record["got"] = got = await provoke(lab)
                    await lab.next_call_works()
            except BaseException as error:
                record["left"] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
                raise
            record["left"] = left
            assert got == expected, f"expected {_other(expected, got)}, got {_other(got, expected)}"

        test.pytestmark = [pytest.mark.timeout(LIMIT_SECONDS)]  # type: ignore[attr-defined]
        test.__name__ = provoke.__name__
        test.__qualname__ = provoke.__qualname__
        test.__module__ = provoke.__module__
        test.__signature__ = inspect.signature(test)  # type: ignore[attr-defined]
        return test

    return decorate


def _other(one: str | Mapping[str, str], two: str | Mapping[str, str]) -> object:
    """What of one is not in two."""
    if isinstance(one, str) or isinstance(two, str):
        return one
    return {value: outcome for value, outcome in one.items() if two.get(value) != outcome}


def read(properties: list[tuple[str, Any]]) -> dict[str, Any] | None:
    """What a test recorded, from the properties of its report."""
    return next((value for name, value in properties if name == PROPERTY), None)
