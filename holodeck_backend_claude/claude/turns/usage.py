"""Token counts, from the Messages API's way of counting to the contract's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Usage:
    """Adds up the usage of the model's messages, for a turn that ends without a verdict."""

    def __init__(self) -> None:
        self._messages: list[dict[str, Any]] = []

    @property
    def messages(self) -> int:
        """How many answers the model began."""
        return len(self._messages)

    def begin(self, usage: Mapping[str, Any]) -> None:
        """An answer begins, with the usage known by then."""
        self._messages.append(dict(usage))

    def update(self, usage: Mapping[str, Any]) -> None:
        """The current answer's usage, in part or whole."""
        if self._messages:
            self._messages[-1].update({k: v for k, v in usage.items() if v is not None})

    def total(self) -> dict[str, int]:
        """The sum over all answers."""
        return {key: sum(int(m.get(key) or 0) for m in self._messages) for key in PARTS}


PARTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)


def as_contract(usage: Mapping[str, Any]) -> dict[str, int]:
    """The provider counts cached input apart; ``input_tokens`` of the contract is all input."""
    plain, output, read, created = (int(usage.get(key) or 0) for key in PARTS)
    total_input = plain + read + created
    return {
        "input_tokens": total_input,
        "output_tokens": output,
        "total_tokens": total_input + output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": created,
    }
