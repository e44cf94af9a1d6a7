"""What the SDK's result message means in the words of the contract."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holodeck_backend_claude import outcomes

if TYPE_CHECKING:
    from claude_agent_sdk import ResultMessage

# The subtypes that have a reason of their own; every other one is a provider error.
_REASON_BY_SUBTYPE = {
    "error_max_turns": outcomes.TURN_LIMIT,
    "error_max_budget_usd": outcomes.OVER_BUDGET,
}


# What Claude Code calls the failures that have a reason of their own here.
_REASON_BY_KIND = {
    "authentication_failed": outcomes.UNAUTHENTICATED,
    "cloud_credential_error": outcomes.UNAUTHENTICATED,
    "rate_limit": outcomes.RATE_LIMITED,
}

# What the libraries of AWS, Google and Azure say of a login that gives no credential; older
# programs pass it on without a name for the failure.
_NO_CREDENTIAL = re.compile(r"(?i:load credentials|client_email field|TokenProvider: )")

# What its texts about a connection have in common, whatever it calls the failure.
_CONNECTION = re.compile(r"(?i:connection|connect to|socket|certificate)|\bE[A-Z]{4,}\b")


@dataclass(frozen=True)
class SaidByCLI:
    """What Claude Code said in the model's place when a request failed.

    Attributes:
        text: Its words.
        kind: What it calls the failure, e.g. ``server_error``; None where it does not say.
    """

    text: str
    kind: str | None


def reason_of(verdict: ResultMessage | None, said: SaidByCLI | None) -> str | None:
    """Why a turn failed, or None if it succeeded.

    Args:
        verdict: The result message; None where the process ended without one.
        said: What Claude Code said in the model's place, if it did.
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
    if said is None or verdict.subtype != "success":
        said = SaidByCLI("", None if verdict.subtype == "success" else verdict.subtype)
    return _reason_without_status(said)


def _reason_without_status(said: SaidByCLI) -> str:
    """An API failure without an HTTP status: no answer came, or it broke off."""
    if said.kind in _REASON_BY_KIND:
        return _REASON_BY_KIND[said.kind]
    if _NO_CREDENTIAL.search(said.text):
        return outcomes.UNAUTHENTICATED
    if _CONNECTION.search(said.text):
        return outcomes.CONNECTION_LOST
    return outcomes.provider_error(said.kind or "unknown")
