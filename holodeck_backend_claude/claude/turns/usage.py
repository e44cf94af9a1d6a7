"""Token counts, from the Messages API's way of counting to the contract's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from claude_agent_sdk import ResultMessage


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


_PART_BY_KEY = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadInputTokens": "cache_read_input_tokens",
    "cacheCreationInputTokens": "cache_creation_input_tokens",
}


@dataclass(frozen=True)
class Spent:
    """What a conversation has used so far, subagents included; the SDK adds it up over all turns.

    Attributes:
        cost_usd: US dollars.
        tokens: Tokens by the Messages API's names.
    """

    cost_usd: float = 0.0
    tokens: Mapping[str, int] = field(default_factory=dict)

    def by(self, verdict: ResultMessage) -> Spent:
        """What it has used when this verdict was given; what it does not tell stays."""
        cost = verdict.total_cost_usd
        models: list[Any] = [*(verdict.model_usage or {}).values()]
        tokens = {
            part: sum(int(model.get(key) or 0) for model in models)
            for key, part in _PART_BY_KEY.items()
        }
        return Spent(self.cost_usd if cost is None else cost, tokens if models else self.tokens)

    def since(self, before: Spent) -> Spent:
        """What was used after ``before``."""
        tokens = {part: max(0, n - before.tokens.get(part, 0)) for part, n in self.tokens.items()}
        return Spent(max(0.0, self.cost_usd - before.cost_usd), tokens)


NOTHING = Spent()
"""What a conversation has used before its first turn."""
