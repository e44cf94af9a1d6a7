"""What the SDK's result message means in the words of the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holodeck_backend_claude import outcomes

if TYPE_CHECKING:
    from claude_agent_sdk import ResultMessage

# The subtypes that have a reason of their own; every other one is a provider error.
_REASON_BY_SUBTYPE = {
    "error_max_turns": outcomes.TURN_LIMIT,
    "error_max_budget_usd": outcomes.OVER_BUDGET,
}


def reason_of(verdict: ResultMessage | None, *, said_by_cli: str | None) -> str | None:
    """Why a turn failed, or None if it succeeded.

    Args:
        verdict: The result message; None where the process ended without one.
        said_by_cli: What Claude Code said in the model's place, if it did.
    """
    if verdict is None:
        return outcomes.CRASHED
    if verdict.subtype in _REASON_BY_SUBTYPE:
        return _REASON_BY_SUBTYPE[verdict.subtype]
    if verdict.api_error_status:
        return outcomes.provider_error(verdict.api_error_status)
    if verdict.stop_reason == "refusal":
        return outcomes.REFUSED
    if not verdict.is_error and verdict.subtype == "success":
        return None
    # An API failure without a status: the connection broke while the answer came.
    api_failed = verdict.subtype == "success" and said_by_cli
    return outcomes.CONNECTION_LOST if api_failed else outcomes.provider_error(verdict.subtype)
